// Lines and stacks over time, in SVG; a gap in the data is a gap.  Words and numbers are HTML, so
// that they are never stretched.

import { h, s, count } from './dom.js';

const WIDTH = 600,
  HEIGHT = 120;

/** The next of 1, 2, 5, 10, 20 ... that is not less. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find(step => step * power >= value * 0.999999) * power;
}

/** [[from, to]] of the runs of numbers, ends included. */
function runs(values) {
  const found = [];
  values.forEach((value, i) => {
    if (value == null) return;
    if (found.length && found[found.length - 1][1] === i - 1) found[found.length - 1][1] = i;
    else found.push([i, i]);
  });
  return found;
}

const lastOf = values => {
  for (let i = values.length - 1; i >= 0; i--) if (values[i] != null) return values[i];
  return null;
};

/**
 * series: [{name, css, values: [number|null]}], of the same length, the newest last; `big` is the
 * number at the right, `least` what the height stands for at least, `span` what the width does, `more` nodes below.
 */
export function chart(
  title,
  series,
  {
    unit = '',
    stacked = false,
    format = count,
    big = null,
    least = 1,
    span = '2 min ago',
    more = null,
  } = {},
) {
  const size = series[0].values.length;
  const sums = Array.from({ length: size }, (_, i) =>
    series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0),
  );
  const most = roundUp(
    Math.max(
      least,
      ...(stacked ? sums : series.flatMap(each => each.values.map(value => value ?? 0))),
    ),
  );
  const x = i => ((i * WIDTH) / Math.max(size - 1, 1)).toFixed(1),
    y = value => (HEIGHT - (value / most) * HEIGHT).toFixed(1);
  const base = new Array(size).fill(0);
  const paths = series.map(each => {
    const upper = each.values.map((value, i) => (stacked ? base[i] + (value ?? 0) : value));
    const text = runs(each.values)
      .map(([from, to]) => {
        const over = Array.from(
          { length: to - from + 1 },
          (_, i) => `${i ? 'L' : 'M'}${x(from + i)} ${y(upper[from + i])}`,
        ).join('');
        return stacked
          ? `${over}${Array.from({ length: to - from + 1 }, (_, i) => `L${x(to - i)} ${y(base[to - i])}`).join('')}Z`
          : over;
      })
      .join('');
    if (stacked)
      upper.forEach((value, i) => {
        base[i] = value;
      });
    return s(
      'path',
      stacked
        ? { d: text, class: `fill-${each.css}` }
        : { d: text, class: `line ${each.css}`, fill: 'none' },
    );
  });
  const shown = value => (value == null ? '–' : `${format(value)}${unit}`);
  return h(
    'figure',
    { class: 'chart' },
    h('figcaption', null, h('h2', null, title), big && h('span', { class: 'big num' }, big)),
    h(
      'div',
      { class: 'plot' },
      h(
        'div',
        { class: 'ys', 'aria-hidden': 'true' },
        [most, most / 2, 0].map(value => h('span', null, format(value))),
      ),
      s(
        'svg',
        { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' },
        [0, 0.5, 1].map(part => s('path', { class: 'ax', d: `M0 ${HEIGHT * part}H${WIDTH}` })),
        paths,
      ),
      h(
        'div',
        { class: 'xs', 'aria-hidden': 'true' },
        h('span', null, span),
        h('span', null, 'now'),
      ),
    ),
    h(
      'div',
      { class: 'legend', 'aria-hidden': 'true' },
      series.map(each =>
        h(
          'span',
          null,
          h('i', { class: `sw ${each.css}` }),
          each.name,
          ' ',
          h('b', null, shown(lastOf(each.values))),
        ),
      ),
    ),
    more,
    h(
      'table',
      { class: 'sr' },
      h('caption', null, title),
      h(
        'tbody',
        null,
        series.map(each =>
          h(
            'tr',
            null,
            h('th', { scope: 'row' }, each.name),
            h('td', null, lastOf(each.values) == null ? 'no data' : shown(lastOf(each.values))),
          ),
        ),
      ),
    ),
  );
}

/** Parts of a whole side by side: parts are [{css, value, name}]. */
export function shareBar(label, parts) {
  const total = parts.reduce((sum, part) => sum + part.value, 0);
  return h(
    'div',
    { class: 'share' },
    h('span', { class: 'muted' }, label),
    h(
      'div',
      {
        class: 'bar',
        role: 'img',
        'aria-label': `${label}: ${total ? parts.map(part => `${part.name} ${Math.round((part.value / total) * 1000) / 10} %`).join(', ') : 'none yet'}`,
      },
      total > 0 &&
        parts
          .filter(part => part.value > 0)
          .map(part =>
            h('i', { class: `bg-${part.css}`, css: { 'flex-grow': String(part.value / total) } }),
          ),
    ),
  );
}
