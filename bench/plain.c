/* The loop of plain.py, as fast as it can be: write, sync and rename every file, sync its directory.

Usage: plain FILE ROOT, where FILE is the plain.txt of `generate.py`: lines of two, source and path. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK(call) do { if ((call) < 0) { perror(#call); exit(1); } } while (0)

static char source[4096], path[4096], target[8192], candidate[8200], bytes[1 << 20];

static int line(FILE *list, char *into)
{
    if (!fgets(into, 4096, list))
        return 0;
    into[strcspn(into, "\n")] = 0;
    return 1;
}

int main(int count, char **given)
{
    FILE *list = count == 3 ? fopen(given[1], "r") : NULL;
    if (!list)
        return 2;
    while (line(list, source) && line(list, path)) {
        int from, to, folder;
        ssize_t size;
        snprintf(target, sizeof target, "%s/%s", given[2], path);
        snprintf(candidate, sizeof candidate, "%s.new", target);
        CHECK(from = open(source, O_RDONLY));
        CHECK(to = open(candidate, O_WRONLY | O_CREAT | O_EXCL, 0600));
        while ((size = read(from, bytes, sizeof bytes)) > 0)
            if (write(to, bytes, size) != size)
                return 1;
        CHECK(size);
        CHECK(fchown(to, getuid(), getgid()));
        CHECK(fchmod(to, 0644));
        CHECK(fsync(to));
        CHECK(close(to));
        CHECK(close(from));
        CHECK(rename(candidate, target));
        *strrchr(target, '/') = 0;
        CHECK(folder = open(target, O_RDONLY | O_DIRECTORY));
        CHECK(fsync(folder));
        CHECK(close(folder));
    }
    return 0;
}
