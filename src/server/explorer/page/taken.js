// Messages that this page has taken from a queue: to delete them, or to put them back.

import { h, put, plural, toast, ask, instant } from './dom.js';
import * as messages from './messages.js';
import { troubleBox } from './frame.js';

const SECONDS_MAX = 7 * 86400;
const GONE = ['MessageNotFound', 'PopReceiptMismatch'];

/** A number of a form, with its name before it. */
export const numberField = (label, value, least, most, hint) => {
  const field = h('input', {
    class: 'field num short',
    type: 'number',
    min: least,
    max: most,
    step: '1',
    value: String(value),
    placeholder: hint,
    required: hint ? null : true,
  });
  return { field, node: h('label', { class: 'row' }, label, field) };
};

/** A cell with a time, which in the year 9999 is none; its name is for screens without room for columns. */
export const time = (name, text) =>
  h(
    'td',
    { class: 'nowrap', 'data-name': name },
    text.includes('9999') ? 'never' : instant(new Date(text).toISOString()),
  );

/** {node, draw}: the part of a queue's view; `columns(message)` are the cells of a message, `changed()` is told of what the queue has lost. */
export function takenBox(queue, columns, changed) {
  const list = h('div'),
    trouble = h('div');
  const number = numberField('Messages', 1, 1, 32),
    hidden = numberField('hidden for seconds', 30, 1, SECONDS_MAX);
  let taken = [];

  async function take(event) {
    event.preventDefault();
    put(trouble);
    try {
      const got = await messages.dequeue(queue, number.field.value, hidden.field.value);
      taken = [...taken.filter(old => !got.some(message => message.id === old.id)), ...got];
      toast(got.length ? `${plural(got.length, 'message')} dequeued` : 'No message is visible');
    } catch (error) {
      put(trouble, troubleBox(error));
    }
    draw();
    changed();
  }

  // Whoever was given it meanwhile has the receipt that counts.
  async function end(some, act, word) {
    const lost = [];
    put(trouble);
    try {
      for (const message of some) {
        try {
          await act(queue, message);
        } catch (error) {
          if (!GONE.includes(error.code)) throw error;
          lost.push(message);
        }
        taken = taken.filter(other => other !== message);
      }
      toast(
        lost.length === 0
          ? `${plural(some.length, 'message')} ${word}`
          : `${plural(lost.length, 'message')} not ${word}: hidden no longer, and taken by somebody else or deleted`,
      );
    } catch (error) {
      put(trouble, troubleBox(error));
    }
    draw();
    changed();
  }

  const isMeant = some =>
    some.length === 1 ||
    ask(`Delete these ${some.length} messages? This cannot be undone.`, 'Delete them');
  const remove = async some => {
      if (await isMeant(some)) end(some, messages.deleteMessage, 'deleted');
    },
    putBack = some => end(some, messages.putBack, 'put back');
  const buttons = (some, of) => [
    h(
      'button',
      { class: 'btn small', 'aria-label': of && `Put back ${of}`, onclick: () => putBack(some) },
      of ? 'Put back' : 'Put all back',
    ),
    h(
      'button',
      { class: 'btn small', 'aria-label': of && `Delete ${of}`, onclick: () => remove(some) },
      of ? 'Delete' : 'Delete all of these',
    ),
  ];

  function draw() {
    put(
      list,
      taken.length > 0 && [
        h(
          'div',
          { class: 'scrollx' },
          h(
            'table',
            { class: 'list stack' },
            h(
              'thead',
              null,
              h(
                'tr',
                null,
                ['Inserted', 'Hidden until', 'Taken', 'Text', ''].map(name =>
                  h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'Actions')),
                ),
              ),
            ),
            h(
              'tbody',
              null,
              taken.map((message, i) => {
                const [times, text] = columns(message);
                return h(
                  'tr',
                  null,
                  time('Inserted', message.inserted),
                  time('Hidden until', message.visible),
                  times,
                  text,
                  h(
                    'td',
                    { class: 'r' },
                    h('span', { class: 'row' }, buttons([message], `message ${i + 1}`)),
                  ),
                );
              }),
            ),
          ),
        ),
        h(
          'div',
          { class: 'row gapped' },
          buttons([...taken]),
          h(
            'span',
            { class: 'muted' },
            'What is neither deleted nor put back is visible again when its time is over.',
          ),
        ),
      ],
    );
  }

  const node = h(
    'section',
    { class: 'taken' },
    h('h2', null, 'Dequeue'),
    trouble,
    h(
      'form',
      { class: 'row gapped', onsubmit: take },
      number.node,
      hidden.node,
      h('button', { class: 'btn', type: 'submit' }, 'Dequeue'),
      h('span', { class: 'muted' }, 'Counts as taken once more.'),
    ),
    list,
  );
  return { node, draw };
}
