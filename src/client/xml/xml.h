/*
 * The XML of answers, read in place, and of requests, written.
 *
 *     tvc_xml_open(&xml, body, len, TV_LIT("QueueMessagesList"));
 *     while (tvc_xml_child(&xml, &name)) {
 *         if (tv_slice_eq(name, TV_LIT("QueueMessage")))
 *             read_message(&xml, ...);            loops over its children in the same way
 *         else
 *             tvc_xml_skip(&xml);
 *     }
 *     if (!tvc_xml_close(&xml))
 *         return TAVOLA_ERR_PROTOCOL;
 *
 * Each child is either read with tvc_xml_text, or skipped, or its children are gone through until
 * there are none.  A mistake in the document ends all loops and is found at tvc_xml_close.
 *
 * The document comes from outside.  It may nest TVC_XML_DEPTH_MAX deep; a DOCTYPE is refused, so
 * that there are no entities but the five of XML itself and numbers.  Comments, processing
 * instructions and attributes are skipped, but for Encoded="true", with which lists mark names
 * that XML cannot hold.
 */
#ifndef TVC_XML_H
#define TVC_XML_H

#include "client/memory.h"
#include "client/text.h"

enum { TVC_XML_DEPTH_MAX = 16 };

typedef struct tvc_xml {
    char *at, *end;
    bool is_bad; /* not well-formed, or not what was expected; for good */
    bool is_before_root;
    bool is_empty;   /* the innermost element is <a/>: it has no end tag */
    bool is_encoded; /* the text of the element that was begun last is percent-encoded */
    unsigned depth;
    tv_slice names[TVC_XML_DEPTH_MAX]; /* of the elements that are open */
} tvc_xml;

/** Begin with a document of UTF-8, which is changed, and go into its root of that name. */
void tvc_xml_open(tvc_xml *xml, char *document, size_t len, tv_slice root);

/**
 * Go into the next child of the open element; its name, without what comes before a ':'.  False
 * when there is none: then that element is closed.
 */
bool tvc_xml_child(tvc_xml *xml, tv_slice *ret_name);

/**
 * The text of the open element, which is closed: valid UTF-8 without NUL, with a NUL behind it, in
 * the document's memory.  Elements in it are a mistake.  Empty, never NULL, after a mistake.
 */
tv_slice tvc_xml_text(tvc_xml *xml);

/** Close the open element, whatever is in it. */
void tvc_xml_skip(tvc_xml *xml);

/** Whether the whole document was read, and nothing was wrong with it. */
bool tvc_xml_close(tvc_xml *xml);

/** Note that what was read is not what it should be: a number that is not one. */
void tvc_xml_fail(tvc_xml *xml);

/** The text of the open element as a number of digits; closes it. */
uint64_t tvc_xml_number(tvc_xml *xml);

/** Whether it is UTF-8 and all of its characters are allowed in XML. */
bool tvc_xml_can_hold(tv_slice text);

/** Append text as the content of an element, escaped so that each character comes back. */
void tvc_xml_add_text(tvc_text *to, tv_slice text);

/** Append <name>text</name>. */
void tvc_xml_add_element(tvc_text *to, const char *name, tv_slice text);

#endif
