"""Estimators: one paper (family), one file. `bagwise.catalog` lists them."""
