/*
 * The little XML that the service speaks in addition to JSON: access policies and
 * service properties.  A document becomes a small tree in an arena.  It comes
 * from outside, so it is bounded in every direction, and what could make it mean
 * more than it shows (a DOCTYPE, and with it every entity but the five of XML
 * itself) is refused.  Attributes, comments and processing instructions are
 * skipped; an element holds text or elements, not both.
 */
#ifndef TV_BASE_XML_H
#define TV_BASE_XML_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    TV_XML_BYTES_MAX = 128 * 1024,
    TV_XML_DEPTH_MAX = 8,
    TV_XML_NODES_MAX = 1000,
};

typedef struct tv_xml_node {
    tv_slice name;
    tv_slice text; /* UTF-8; all of it, blanks included; empty in an element of elements */
    struct tv_xml_node *parent, *first_child, *last_child, *next;
    size_t child_count;
} tv_xml_node;

/**
 * Read a document in UTF-8, with or without a byte order mark; names and texts
 * live in the arena.  TV_ERR_XML_DOCUMENT when it is not well-formed, goes
 * beyond a limit, mixes text with elements or has a DOCTYPE.
 */
tv_err tv_xml_parse(tv_arena *arena, tv_slice document,
                    const tv_xml_node **ret_root) TV_WARN_UNUSED;

/**
 * Where a document that could not be read stops being XML, or has a DOCTYPE: line
 * and position, from 1.  False when it is XML, but not what was wanted, and when it
 * is longer than TV_XML_BYTES_MAX.
 */
bool tv_xml_find_fault(tv_slice document, unsigned long *ret_line, unsigned long *ret_position);

/** The first child of that name, NULL when there is none. */
const tv_xml_node *tv_xml_child(const tv_xml_node *node, tv_slice name);

/** The text without white space at its ends: of numbers and other words. */
tv_slice tv_xml_word(const tv_xml_node *node);

/**
 * Text that a client sent, fit for an answer in XML or JSON: UTF-8, with '?' for
 * what XML cannot hold, and "..." for what is beyond `bytes_max`.  In the arena.
 */
tv_slice tv_xml_clean(tv_arena *arena, tv_slice text, size_t bytes_max);

/** How many bytes tv_xml_add_text appends. */
size_t tv_xml_text_len(tv_slice text);

/** Append text as the content of an element, escaped. */
void tv_xml_add_text(tv_buf *buf, tv_slice text);

/** Append <name>text</name>, or <name /> when the text is empty. */
void tv_xml_add_element(tv_buf *buf, const char *name, tv_slice text);

#endif
