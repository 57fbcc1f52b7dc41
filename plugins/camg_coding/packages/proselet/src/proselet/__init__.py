"""Wrapping, tables, slugs, similarity and templates for plain text."""

from proselet.similarity import closest, distance, jaro, jaro_winkler, longest_common, overlap
from proselet.slugs import camel_case, slugify, snake_case, unique_slug, words
from proselet.tables import Column, MarkdownTable, PlainTable
from proselet.templates import TemplateError, render
from proselet.wrapping import fill, indent, justify, shorten, wrap

__all__ = [
    "Column",
    "MarkdownTable",
    "PlainTable",
    "TemplateError",
    "camel_case",
    "closest",
    "distance",
    "fill",
    "indent",
    "jaro",
    "jaro_winkler",
    "justify",
    "longest_common",
    "overlap",
    "render",
    "shorten",
    "slugify",
    "snake_case",
    "unique_slug",
    "words",
    "wrap",
]
