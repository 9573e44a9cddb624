// A filter as a form: one row for each comparison.  What has parentheses, `not` or both `and` and `or`
// stays text, and the form says so: both ways lose nothing.

import { h, put, icon } from './dom.js';
import { words } from './queries.js';
import { TYPES, literal, problemOf } from './values.js';

const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];

/** {joiner, conditions: [{name, op, text}]} of a flat filter; null for any other. */
export function readFlat(filter) {
  const list = words(filter).filter(word => word.kind !== 'space');
  const conditions = [];
  let joiner = 'and', at = 0;
  while (at < list.length) {
    const [name, op, value, join] = list.slice(at, at + 4);
    if (name?.kind !== 'name' || op?.kind !== 'op' || !['text', 'number'].includes(value?.kind)) return null;
    conditions.push({ name: name.text, op: op.text, text: value.text });
    if (!join) break;
    if (!['and', 'or'].includes(join.text) || (conditions.length > 1 && join.text !== joiner)) return null;
    joiner = join.text;
    at += 4;
    if (at >= list.length) return null;
  }
  return { joiner, conditions };
}

export const printFlat = ({ joiner, conditions }) => conditions.map(({ name, op, text }) => `${name} ${op} ${text}`).join(` ${joiner} `);

/** The type and text of a literal, and back. */
export function readLiteral(text) {
  const quoted = /^(datetime|guid|X|binary)?'(.*)'$/s.exec(text);
  if (quoted) {
    if (quoted[1] === 'datetime') return { type: 'Edm.DateTime', value: quoted[2] };
    if (quoted[1] === 'guid') return { type: 'Edm.Guid', value: quoted[2] };
    if (quoted[1]) return null;
    return { type: 'Edm.String', value: quoted[2].replace(/''/g, "'") };
  }
  if (/^(true|false)$/.test(text)) return { type: 'Edm.Boolean', value: text };
  if (/^-?\d+L$/i.test(text)) return { type: 'Edm.Int64', value: text.slice(0, -1) };
  if (/^-?\d+$/.test(text)) return { type: 'Edm.Int32', value: text };
  return { type: 'Edm.Double', value: text };
}

export function drawForm(box, bar, columns) {
  const flat = readFlat(bar.filter);
  if (!flat || flat.conditions.some(condition => !readLiteral(condition.text))) {
    put(box, h('p', { class: 'muted' }, 'This filter has more than one row for each comparison can say, so it stays text.'));
    return;
  }
  const change = () => bar.set(printFlat(flat));
  const draw = () => put(box,
    flat.conditions.map((condition, i) => {
      const value = readLiteral(condition.text);
      const update = () => { if (!problemOf(value.type, value.value)) { condition.text = literal(value); change(); } field.setAttribute('aria-invalid', String(!!problemOf(value.type, value.value))); };
      const field = h('input', { class: 'field mono grow', 'aria-label': 'Value', value: value.value, oninput: event => { value.value = event.target.value; update(); } });
      const type = h('select', { class: 'field', 'aria-label': 'Type', onchange: event => { value.type = event.target.value; update(); } }, Object.entries(TYPES).filter(([id]) => id !== 'Edm.Binary').map(([id, each]) => h('option', { value: id }, each.name)));
      const op = h('select', { class: 'field', 'aria-label': 'Comparison', onchange: event => { condition.op = event.target.value; change(); } }, COMPARISONS.map(each => h('option', { value: each }, each)));
      type.value = value.type;
      op.value = condition.op;
      return h('div', { class: 'cond' },
        i > 0 && h('select', { class: 'field', 'aria-label': 'Joined by', onchange: event => { flat.joiner = event.target.value; change(); draw(); } }, ['and', 'or'].map(each => h('option', { value: each, selected: each === flat.joiner }, each))),
        h('input', { class: 'field mono', 'aria-label': 'Property', list: 'form-names', value: condition.name, onchange: event => { condition.name = event.target.value; const known = columns.get(condition.name); if (known && TYPES[known] && known !== 'Edm.Binary') { value.type = known; type.value = known; } update(); change(); } }),
        op, type, field, h('button', { class: 'btn quiet small', 'aria-label': 'Remove this comparison', onclick: () => { flat.conditions.splice(i, 1); change(); draw(); } }, icon('close', 14)));
    }),
    h('datalist', { id: 'form-names' }, [...columns.keys()].map(name => h('option', { value: name }))),
    h('div', { class: 'row' }, h('button', { class: 'btn small', onclick: () => { flat.conditions.push({ name: flat.conditions.length ? [...columns.keys()][2] || 'Timestamp' : 'PartitionKey', op: 'eq', text: "''" }); change(); draw(); } }, icon('plus', 14), 'Add a comparison'), h('button', { class: 'btn small primary', onclick: () => bar.run() }, 'Run')));
  draw();
}
