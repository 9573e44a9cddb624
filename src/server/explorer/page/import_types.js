// Types for the columns of a CSV that says none: what its first lines look like, and somebody's choice.

import { h, count } from './dom.js';
import { TYPES, isNumber, problemOf } from './values.js';

// From the narrowest on.  What begins with a zero is no number: postcodes and numbers of articles lose by it.
const GUESSES = ['Edm.Boolean', 'Edm.Int32', 'Edm.Int64', 'Edm.Double', 'Edm.Guid', 'Edm.DateTime'];
const NO_NUMBER = /^-?0\d|^-?(NaN|Infinity)$/;

export const LOOKED_AT = 1000; // lines
const SAMPLES = 3;

/** The narrowest type that all of these texts are values of. */
function guess(texts) {
  const fits = type =>
    texts.every(text => !problemOf(type, text) && !(isNumber(type) && NO_NUMBER.test(text)));
  return texts.length ? GUESSES.find(fits) || 'Edm.String' : 'Edm.String';
}

/**
 * A choice for each column without a type, or null when there is none.  `rows`: Maps of properties as
 * Strings, `known`: types by names of properties that the table has.  {node, types(): Map}.
 */
export function typeChooser(columns, rows, known) {
  const untyped = columns.filter(column => column?.isUntyped);
  if (!untyped.length) return null;
  const types = new Map();
  const lines = untyped.map(({ name }) => {
    const texts = rows
      .map(properties => properties.get(name)?.value)
      .filter(text => text !== undefined);
    const ofTable = known.get(name),
      isOfTable = TYPES[ofTable] && texts.every(text => !problemOf(ofTable, text));
    types.set(name, isOfTable ? ofTable : guess(texts));
    const select = h(
      'select',
      {
        class: 'field',
        'aria-label': `Type of ${name}`,
        onchange: () => types.set(name, select.value),
      },
      Object.entries(TYPES).map(([id, each]) => h('option', { value: id }, each.name)),
    );
    select.value = types.get(name);
    return h(
      'tr',
      null,
      h('th', { scope: 'row', class: 'mono' }, name),
      h('td', null, select),
      h(
        'td',
        { class: 'muted' },
        isOfTable
          ? 'as in the table'
          : texts.length
            ? `as in ${count(texts.length)} of the first ${count(rows.length)} lines`
            : 'no value in the first lines',
      ),
      h(
        'td',
        { class: 'mono', dir: 'auto' },
        texts
          .slice(0, SAMPLES)
          .map(text => text.slice(0, 40))
          .join(', '),
      ),
    );
  });
  return {
    types: () => types,
    node: h(
      'section',
      { 'aria-label': 'Types' },
      h('h3', null, 'This file has no types. Which are meant?'),
      h(
        'div',
        { class: 'scrollx' },
        h(
          'table',
          { class: 'list mid' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              ['Column', 'Type', 'Offered', 'Values'].map(text => h('th', { scope: 'col' }, text)),
            ),
          ),
          h('tbody', null, lines),
        ),
      ),
    ),
  };
}
