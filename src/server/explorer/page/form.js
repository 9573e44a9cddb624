// A filter as a form: groups of comparisons, in groups.  What the form cannot show - a property on its
// own, a binary literal, a value before its property - stays text in its place, as it was written.

import { h, put, icon } from './dom.js';
import { words } from './queries.js';
import { TYPES, literal, problemOf } from './values.js';

const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];
const GROUPS = [
  ['and', 'all of', false],
  ['or', 'any of', false],
  ['and', 'not all of', true],
  ['or', 'none of', true],
];
const DEPTH_MAX = 50;
const FIRST = {
  'Edm.Int32': '0',
  'Edm.Int64': '0L',
  'Edm.Double': '0.0',
  'Edm.Boolean': 'true',
  'Edm.Guid': "guid'00000000-0000-0000-0000-000000000000'",
};

// --- trees: {join, isNot, items} | {name, op, text} | {raw} ---

/** The tree of a filter, always a group; null when it is not a whole filter. */
export function readTree(filter) {
  const list = words(filter).filter(word => word.kind !== 'space');
  let at = 0;
  const is = text => list[at]?.text === text;

  function comparison() {
    const [name, op, value, after] = list.slice(at, at + 4);
    const isEnd = !after || after.text === ')' || after.text === 'and' || after.text === 'or';
    if (
      name?.kind !== 'name' ||
      op?.kind !== 'op' ||
      !['text', 'number'].includes(value?.kind) ||
      !isEnd ||
      !readLiteral(value.text)
    )
      return null;
    at += 3;
    return { name: name.text, op: op.text, text: value.text };
  }

  // All up to the next and, or, or the parenthesis that closes what is around it.
  function raw() {
    const from = at;
    let depth = 0;
    while (at < list.length && (depth > 0 || !(is(')') || is('and') || is('or')))) {
      depth += is('(') ? 1 : is(')') ? -1 : 0;
      at++;
    }
    if (at === from || depth !== 0) throw new Error('not a filter');
    const last = list[at - 1];
    return { raw: filter.slice(list[from].at, last.at + last.text.length) };
  }

  function one(depth) {
    const begin = at,
      isNot = is('not');
    if (isNot) at++;
    if (is('(') && depth < DEPTH_MAX) {
      at++;
      const group = either(depth + 1);
      if (!is(')')) throw new Error('not a filter');
      at++;
      if (!list[at] || is(')') || is('and') || is('or'))
        return {
          join: 'and',
          items: [group],
          ...(group.items ? group : {}),
          isNot: isNot !== !!group.isNot,
        };
    }
    at = begin;
    return (isNot ? null : comparison()) || raw();
  }

  function joined(join, part, depth) {
    const items = [part(depth)];
    while (is(join)) {
      at++;
      items.push(part(depth));
    }
    return items.length === 1 ? items[0] : { join, isNot: false, items };
  }
  const both = depth => joined('and', one, depth),
    either = depth => joined('or', both, depth);

  if (!list.length) return { join: 'and', isNot: false, items: [] };
  try {
    const tree = either(0);
    return at < list.length
      ? null
      : tree.items && !tree.isNot
        ? tree
        : { join: 'and', isNot: false, items: [tree] };
  } catch {
    return null;
  }
}

/** Its text; a group in a group has parentheses. */
export function printTree(tree, isInner) {
  if (tree.raw !== undefined) return tree.raw;
  if (!tree.items) return `${tree.name} ${tree.op} ${tree.text}`;
  const text = tree.items
    .map(item => printTree(item, true))
    .filter(Boolean)
    .join(` ${tree.join} `);
  return !text ? '' : tree.isNot ? `not (${text})` : isInner ? `(${text})` : text;
}

/** The type and text of a literal; null for what the form has no field for. */
function readLiteral(text) {
  const quoted = /^(\w*)'(.*)'$/s.exec(text);
  if (quoted) {
    const type = { '': 'Edm.String', datetime: 'Edm.DateTime', guid: 'Edm.Guid' }[quoted[1]];
    return type
      ? { type, value: type === 'Edm.String' ? quoted[2].replace(/''/g, "'") : quoted[2] }
      : null;
  }
  if (/^(true|false)$/.test(text)) return { type: 'Edm.Boolean', value: text };
  if (/^-?\d+L$/i.test(text)) return { type: 'Edm.Int64', value: text.slice(0, -1) };
  if (/^-?\d+$/.test(text)) return { type: 'Edm.Int32', value: text };
  return /^-?\d+(\.\d*)?([eE][-+]?\d+)?$/.test(text) ? { type: 'Edm.Double', value: text } : null;
}

// --- the form ---

export class Form {
  /** `bar`: the query bar whose text it is; `columns()`: a Map of names to types. */
  constructor(box, bar, columns) {
    Object.assign(this, { box, bar, columns, shown: null });
    this.read();
  }

  /** The text has changed: by the form itself, or by somebody who typed. */
  read() {
    if (this.shown === this.bar.filter) return;
    this.shown = this.bar.filter;
    const tree = readTree(this.shown);
    if (tree) {
      this.tree = tree;
      this.draw();
    } else
      put(
        this.box,
        h(
          'p',
          { class: 'muted' },
          'The text is not a whole filter yet; the form goes on when it is.',
        ),
      );
  }

  write() {
    this.shown = printTree(this.tree);
    this.bar.set(this.shown);
  }

  /** After a change of what there is; the focus goes to what `wanted` finds. */
  rewrite(wanted) {
    this.write();
    this.draw();
    if (wanted) this.box.querySelectorAll(wanted[0])[wanted[1]]?.focus();
  }

  draw() {
    put(
      this.box,
      h(
        'datalist',
        { id: 'form-names' },
        [...this.columns().keys()].map(name => h('option', { value: name })),
      ),
      this.group(this.tree, null),
    );
  }

  group(group, parent) {
    const choice = h(
      'select',
      {
        class: 'field',
        'aria-label': 'Match',
        onchange: event => {
          const [join, , isNot] = GROUPS[event.target.value];
          Object.assign(group, { join, isNot });
          this.write();
        },
      },
      GROUPS.map(([, label], i) => h('option', { value: i }, label)),
    );
    choice.value = GROUPS.findIndex(
      ([join, , isNot]) => join === group.join && isNot === !!group.isNot,
    );
    const remove =
      parent &&
      h(
        'button',
        {
          class: 'btn quiet small',
          'aria-label': 'Remove this group',
          onclick: () => {
            parent.items.splice(parent.items.indexOf(group), 1);
            this.rewrite(['[aria-label="Match"]', 0]);
          },
        },
        icon('close', 14),
      );
    const fresh = () => {
      const [name, type] = this.tree.items.length
        ? [...this.columns()][2] || ['Timestamp', 'Edm.DateTime']
        : ['PartitionKey', 'Edm.String'];
      return {
        name,
        op: 'eq',
        text:
          type === 'Edm.DateTime' ? `datetime'${new Date().toISOString()}'` : FIRST[type] || "''",
      };
    };
    const add = item => {
      group.items.push(item);
      this.rewrite();
      this.fieldOf(item)?.focus();
    };
    return h(
      'div',
      { class: 'fgroup', role: 'group', 'aria-label': GROUPS[choice.value][1] },
      (parent || group.items.length > 1 || group.isNot) &&
        h('div', { class: 'row' }, choice, remove),
      h(
        'div',
        { class: 'conds' },
        group.items.map(item =>
          item.items
            ? this.group(item, group)
            : item.raw !== undefined
              ? this.raw(item, group)
              : this.comparison(item, group),
        ),
      ),
      h(
        'div',
        { class: 'row' },
        h(
          'button',
          { class: 'btn small', onclick: () => add(fresh()) },
          icon('plus', 14),
          'Add a comparison',
        ),
        h(
          'button',
          {
            class: 'btn quiet small',
            onclick: () => {
              const item = fresh();
              add({ join: group.join === 'and' ? 'or' : 'and', isNot: false, items: [item] });
              this.fieldOf(item)?.focus();
            },
          },
          icon('plus', 14),
          'Add a group',
        ),
        !parent &&
          h('button', { class: 'btn small primary', onclick: () => this.bar.run() }, 'Run'),
      ),
    );
  }

  fieldOf(item) {
    return this.fields?.get(item);
  }

  removeButton(item, group) {
    return h(
      'button',
      {
        class: 'btn quiet small',
        'aria-label': 'Remove this comparison',
        onclick: () => {
          const at = [...this.box.querySelectorAll('.cond')].findIndex(each =>
            each.contains(document.activeElement),
          );
          group.items.splice(group.items.indexOf(item), 1);
          this.rewrite(['.cond input', Math.max(0, at - 1)]);
        },
      },
      icon('close', 14),
    );
  }

  raw(item, group) {
    return h(
      'div',
      { class: 'cond' },
      h(
        'code',
        { class: 'grow rawcond', title: 'The form has no fields for this; it stays as it is.' },
        item.raw,
      ),
      h('span', { class: 'muted' }, 'stays text'),
      this.removeButton(item, group),
    );
  }

  comparison(item, group) {
    const value = readLiteral(item.text);
    const update = () => {
      const problem = problemOf(value.type, value.value);
      if (!problem) {
        item.text = literal(value);
        this.write();
      }
      field.setAttribute('aria-invalid', String(!!problem));
      field.title = problem;
    };
    const field = h('input', {
      class: 'field mono grow',
      'aria-label': 'Value',
      dir: 'auto',
      value: value.value,
      oninput: event => {
        value.value = event.target.value;
        update();
      },
      onkeydown: event => {
        if (event.key === 'Enter') {
          event.preventDefault();
          this.bar.run();
        }
      },
    });
    const type = h(
      'select',
      {
        class: 'field',
        'aria-label': 'Type',
        onchange: event => {
          value.type = event.target.value;
          update();
        },
      },
      Object.entries(TYPES)
        .filter(([id]) => id !== 'Edm.Binary')
        .map(([id, each]) => h('option', { value: id }, each.name)),
    );
    const op = h(
      'select',
      {
        class: 'field',
        'aria-label': 'Comparison',
        onchange: event => {
          item.op = event.target.value;
          this.write();
        },
      },
      COMPARISONS.map(each => h('option', { value: each }, each)),
    );
    const name = h('input', {
      class: 'field mono',
      'aria-label': 'Property',
      list: 'form-names',
      value: item.name,
      onchange: event => {
        item.name = event.target.value;
        const known = this.columns().get(item.name);
        if (TYPES[known] && known !== 'Edm.Binary') {
          value.type = known;
          type.value = known;
        }
        update();
        this.write();
      },
    });
    type.value = value.type;
    op.value = item.op;
    (this.fields ||= new WeakMap()).set(item, name);
    return h('div', { class: 'cond' }, name, op, type, field, this.removeButton(item, group));
  }
}
