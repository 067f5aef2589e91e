"""Protocols, runners and tables that compare methods; the demo is the smallest of them."""
