// Lines and stacks over time, in SVG; a gap in the data is a gap.

import { h, s, put, count } from './dom.js';

/** series: [{name, css, values: [number|null]}]; values are of the same length, the newest last. */
export function chart(title, series, { unit = '', stacked = false, format = count } = {}) {
  const size = series[0].values.length, width = 600, height = 120;
  const sums = Array.from({ length: size }, (_, i) => series.reduce((sum, each) => sum + (each.values[i] ?? 0), 0));
  const most = Math.max(1e-9, ...(stacked ? sums : series.flatMap(each => each.values.map(value => value ?? 0))));
  const x = i => i * width / Math.max(size - 1, 1), y = value => height - value / most * (height - 4);
  const base = new Array(size).fill(0);
  const paths = series.map(each => {
    let text = '', isDown = false;
    const upper = each.values.map((value, i) => (base[i] + (value ?? 0)));
    each.values.forEach((value, i) => { if (value == null) { isDown = false; return; } text += `${isDown ? 'L' : 'M'}${x(i).toFixed(1)} ${y(stacked ? upper[i] : value).toFixed(1)}`; isDown = true; });
    if (stacked) {
      const area = `${upper.map((value, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('')}${[...base.keys()].reverse().map(i => `L${x(i).toFixed(1)} ${y(base[i]).toFixed(1)}`).join('')}Z`;
      upper.forEach((value, i) => { base[i] = value; });
      return s('path', { d: area, class: `fill-${each.css}` });
    }
    return s('path', { d: text, class: `line ${each.css}`, fill: 'none' });
  });
  const last = each => { for (let i = size - 1; i >= 0; i--) if (each.values[i] != null) return each.values[i]; return null; };
  return h('figure', { class: 'chart' }, h('figcaption', null, h('h2', null, title), h('span', { class: 'legend' }, series.map(each => h('span', null, h('i', { class: `sw ${each.css}` }), each.name, ' ', h('b', null, last(each) == null ? '–' : `${format(last(each))}${unit}`))))),
    h('div', { class: 'plot' }, h('span', { class: 'most' }, `${format(most)}${unit}`), s('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, [0.25, 0.5, 0.75].map(part => s('path', { class: 'ax', d: `M0 ${height * part}H${width}` })), paths)),
    h('table', { class: 'sr' }, h('caption', null, title), h('tbody', null, series.map(each => h('tr', null, h('th', { scope: 'row' }, each.name), h('td', null, last(each) == null ? 'no data' : `${format(last(each))}${unit}`))))));
}
