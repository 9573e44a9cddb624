// Rows that are loaded, in another order than that of the service; and what can be said of some of them.

import { h, dialog, count, bytes, plural, visible } from './dom.js';
import { TYPES, entityCost, isNumber } from './values.js';

// Values of different types stand in this order; what has no value comes last, whatever the direction.
const RANKS = ['Edm.Boolean', 'Edm.Int32', 'Edm.DateTime', 'Edm.Guid', 'Edm.String', 'Edm.Binary'];
const rankOf = type => RANKS.indexOf(isNumber(type) ? 'Edm.Int32' : type);

/** The order of two texts of Int32, Int64 or Double: whole numbers exactly, NaN behind all others. */
function compareNumbers(a, b) {
  if (a.type !== 'Edm.Double' && b.type !== 'Edm.Double') {
    const [x, y] = [BigInt(a.value), BigInt(b.value)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  const [x, y] = [Number(a.value), Number(b.value)];
  return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : x - y || 0;
}

function compareValues(a, b) {
  if (rankOf(a.type) !== rankOf(b.type)) return rankOf(a.type) - rankOf(b.type);
  if (isNumber(a.type)) return compareNumbers(a, b);
  return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}

/** A source of the grid: entities by one property, {name, isDown}. */
export class Sorted {
  constructor(entities, { name, isDown }) {
    const keyed = entities.map((entity, at) => ({
      entity,
      at,
      value: entity.properties.get(name),
    }));
    keyed.sort((a, b) =>
      a.value && b.value
        ? (isDown ? -1 : 1) * compareValues(a.value, b.value) || a.at - b.at
        : !a.value - !b.value || a.at - b.at,
    );
    this.rows = keyed.map(({ entity }) => entity);
  }

  get length() {
    return this.rows.length;
  }
  at(index) {
    return this.rows[index];
  }
  loaded() {
    return this.rows;
  }
}

// --- statistics ---

const isWhole = ({ type }) => type !== 'Edm.Double';

function numbersOf(values) {
  const numbers = values.filter(({ type }) => isNumber(type));
  if (!numbers.length) return { numbers: 0 };
  const sum = numbers.every(isWhole)
    ? numbers.reduce((total, { value }) => total + BigInt(value), 0n)
    : numbers.reduce((total, { value }) => total + Number(value), 0);
  return { numbers: numbers.length, sum: String(sum), mean: Number(sum) / numbers.length };
}

/** {entities, partitions, bytes, properties: [{name, count, types, distinct, least, greatest, numbers, sum, mean}]}, all of it exact. */
function statisticsOf(entities) {
  const byName = new Map();
  for (const { properties } of entities)
    for (const [name, value] of properties) {
      if (!byName.has(name)) byName.set(name, []);
      byName.get(name).push(value);
    }
  const described = [...byName].map(([name, values]) => {
    const sorted = [...values].sort(compareValues);
    return {
      name,
      count: values.length,
      types: [...new Set(values.map(({ type }) => type))],
      distinct: new Set(values.map(({ type, value }) => `${type} ${value}`)).size,
      least: sorted[0],
      greatest: sorted[sorted.length - 1],
      ...numbersOf(values),
    };
  });
  return {
    entities: entities.length,
    partitions: new Set(entities.map(({ partition }) => partition)).size,
    bytes: entities.reduce((sum, { properties }) => sum + entityCost(properties), 0),
    properties: described,
  };
}

const shown = ({ value }) => visible(value.length > 60 ? `${value.slice(0, 60)}…` : value);
const meanText = mean =>
  Number.isFinite(mean) ? mean.toLocaleString('en-US', { maximumFractionDigits: 3 }) : String(mean);

export function showStatistics(entities) {
  const all = statisticsOf(entities);
  const line = each =>
    h(
      'tr',
      null,
      h('th', { scope: 'row', class: 'mono' }, each.name),
      h('td', null, each.types.map(type => TYPES[type].name).join(', ')),
      h('td', { class: 'r' }, count(each.count)),
      h('td', { class: 'r' }, count(each.distinct)),
      h('td', { class: 'mono', dir: 'auto' }, shown(each.least)),
      h('td', { class: 'mono', dir: 'auto' }, shown(each.greatest)),
      h('td', { class: 'r' }, each.numbers ? each.sum : ''),
      h('td', { class: 'r' }, each.numbers ? meanText(each.mean) : ''),
    );
  return dialog(
    'Statistics',
    close => [
      h('h2', null, 'Statistics of the selection'),
      h(
        'p',
        { class: 'soft' },
        `${plural(all.entities, 'entity', 'entities')} in ${plural(all.partitions, 'partition')}, ${bytes(all.bytes)} by the service's formula.`,
      ),
      h(
        'div',
        { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Properties' },
        h(
          'table',
          { class: 'list' },
          h(
            'thead',
            null,
            h(
              'tr',
              null,
              ['Property', 'Type', 'In', 'Distinct', 'Least', 'Greatest', 'Sum', 'Mean'].map(
                (name, i) =>
                  h('th', { scope: 'col', class: [2, 3, 6, 7].includes(i) ? 'r' : null }, name),
              ),
            ),
          ),
          h('tbody', null, all.properties.map(line)),
        ),
      ),
      h(
        'div',
        { class: 'row end' },
        h('button', { class: 'btn primary', autofocus: true, onclick: () => close() }, 'Close'),
      ),
    ],
    true,
  );
}
