"""The public API of resource types: the only thing, beside the model, that a provider may import."""
