// Go to a row: by its number, or by its key.

import { h, dialog, count } from './dom.js';

/** Resolves with {position} (from 0), {key: [partition, row]} or nothing. */
export function askWhere(total, isAbout) {
  return dialog('Go to a row', close => {
    const number = h('input', {
      class: 'field mono grow',
      inputmode: 'numeric',
      autofocus: true,
      'aria-label': 'Number of the row',
      placeholder: `1 to ${isAbout ? 'about ' : ''}${count(total)}, or 73 %`,
    });
    const partition = h('input', {
      class: 'field mono grow',
      'aria-label': 'PartitionKey',
      dir: 'auto',
      placeholder: 'PartitionKey',
    });
    const row = h('input', {
      class: 'field mono grow',
      'aria-label': 'RowKey, or how it begins',
      dir: 'auto',
      placeholder: 'RowKey, or how it begins',
    });
    const problem = h('p', { class: 'bad', role: 'alert' });
    const go = () => {
      const text = number.value.replace(/[,\s]/g, '');
      if (partition.value || row.value) return close({ key: [partition.value, row.value] });
      if (/^\d+(\.\d+)?%$/.test(text))
        return close({
          position: Math.floor((Math.min(100, parseFloat(text)) / 100) * Math.max(0, total - 1)),
        });
      if (/^\d+$/.test(text) && Number(text) > 0)
        return close({ position: Math.min(Number(text), total) - 1 });
      problem.textContent = 'A number of a row, a percentage, or a key.';
      return undefined;
    };
    return h(
      'form',
      {
        method: 'dialog',
        onsubmit: event => {
          event.preventDefault();
          go();
        },
      },
      h('h2', null, 'Go to a row'),
      h('p', { class: 'row gapped' }, number),
      h('p', { class: 'muted' }, 'or the first one from this key on'),
      h('p', { class: 'row gapped' }, partition, row),
      problem,
      h(
        'div',
        { class: 'row end' },
        h('button', { type: 'button', class: 'btn', onclick: () => close() }, 'Cancel'),
        h('button', { type: 'submit', class: 'btn primary' }, 'Go'),
      ),
    );
  });
}
