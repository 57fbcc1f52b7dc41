"""A plugin of CAMG."""
