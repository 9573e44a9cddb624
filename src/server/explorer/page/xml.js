// The XML that the queue and blob services send, as a tree.  Browsers have a parser, but it is one
// of the doors that the page's policy keeps shut (trusted types), because it can also make HTML.

const ENTITIES = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

const decode = text =>
  text.replace(/&(#x[0-9a-f]+|#\d+|\w+);/gi, (all, name) =>
    name[0] !== '#'
      ? (ENTITIES[name] ?? all)
      : String.fromCodePoint(name[1] === 'x' ? parseInt(name.slice(2), 16) : Number(name.slice(1))),
  );

class Element {
  constructor(name, attributes) {
    Object.assign(this, { name, attributes, children: [], text: '' });
  }

  /** The first child, or descendant by "A/B"; undefined without one. */
  find(path) {
    return path
      .split('/')
      .reduce((element, name) => element?.children.find(child => child.name === name), this);
  }

  /** Its text, '' without one. */
  textOf(path) {
    return this.find(path)?.text ?? '';
  }

  all(name) {
    return this.children.filter(child => child.name === name);
  }
}

/** The root element of a document. */
export function parseXml(document) {
  const top = new Element('', {}),
    open = [top];
  for (const [, tag, text] of document.replace(/^\uFEFF/, '').matchAll(/<([^>]+)>|([^<]+)/g)) {
    const current = open[open.length - 1];
    if (text !== undefined) current.text += decode(text);
    else if (tag[0] === '/') {
      const closed = open.pop();
      if (closed.attributes.Encoded === 'true') closed.text = decodeURIComponent(closed.text); // a name that XML cannot hold
    } else if (tag[0] !== '?' && tag[0] !== '!') {
      const attributes = Object.fromEntries(
        [...tag.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, name, value]) => [name, decode(value)]),
      );
      const element = new Element(/^[^\s/]+/.exec(tag)[0], attributes);
      current.children.push(element);
      if (!tag.endsWith('/')) open.push(element);
    }
  }
  return top.children[0];
}

/** Text as content of an element. */
export const escapeXml = text =>
  text.replace(/[<>&"]/g, c => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' })[c]);

/** An element around text that is content already. */
export const element = (name, content) => `<${name}>${content}</${name}>`;
