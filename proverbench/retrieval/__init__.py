"""retrievalbench: how well a search engine finds the theorem, or all the premises, that a proof needs.

Words beside those of ``proverbench/records.py``: a *corpus* is a list of *documents* (declarations of a library); a
*query* is a text with *gold units*, each a set of documents of which any one will do; a *system* turns a query into
a ranked list; a unit's *position* is the rank of its earliest retrieved member. Positions are the source of truth:
every number is derived from them (``metrics.py``), never by searching again.
"""
