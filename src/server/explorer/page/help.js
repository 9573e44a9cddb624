// Keys.

import { h } from './dom.js';
import { topBar } from './frame.js';

const KEYS = [
  [
    'Everywhere',
    [
      ['Ctrl K', 'go to a table, a queue, a container, a page'],
      ['?', 'this list; ? or Esc goes back'],
      ['g t', 'the tree'],
      ['g h', 'the heat map'],
      ['g a', 'advice'],
      ['g s', 'the server'],
      ['[ ]', 'the tab before, the tab after'],
      ['d', 'light or dark'],
      ['Ctrl Z', 'undo the last change'],
    ],
  ],
  [
    'Tree',
    [
      ['↑ ↓', 'the name before, the name after'],
      ['← →', 'close a group, open it'],
      ['Enter', 'open it'],
    ],
  ],
  [
    'Filter',
    [
      ['/', 'to the filter'],
      ['Enter', 'run'],
      ['Shift Enter', 'a new line'],
      ['Ctrl Space', 'completions'],
      ['Tab', 'take a completion'],
      ['Alt P', 'the plan'],
      ['↑ at the start', 'history'],
      ['Esc', 'back to the grid'],
    ],
  ],
  [
    'Grid',
    [
      ['↑ ↓ or j k', 'row'],
      ['← →', 'cell'],
      ['PgUp PgDn Home End', 'further'],
      ['G', 'go to a row by its number or key'],
      ['Enter or e', 'open'],
      ['Space', 'the whole value'],
      ['i', 'insert'],
      ['c', 'clone'],
      ['x, Shift x', 'select, select up to here'],
      ['Del', 'delete'],
      ['f', 'filter by this cell'],
      ['y, Y', 'copy the cell, the entity'],
      ['u', 'UTC or local times'],
      ['o', 'sort what is loaded by the column; downwards; as stored'],
      ['< >', 'move the column'],
      ['+ -', 'wider, narrower'],
    ],
  ],
  [
    'Editor',
    [
      ['Ctrl S', 'save'],
      ['Esc', 'close'],
      ['Ctrl D', 'duplicate a property'],
      ['Ctrl Del', 'remove a property'],
    ],
  ],
  [
    'Heat map',
    [
      ['arrows, Shift', 'move by a cell, by twenty'],
      ['Enter', 'pin; on a pin, open its entities'],
      ['n', 'the next pattern'],
      ['z', 'zoom to it'],
      ['i, o', 'zoom in, zoom out'],
      ['Ctrl arrows', 'pan'],
      ['+ -', 'brighter, darker'],
      ['f', 'first key on top or at the bottom'],
      ['Esc', 'all'],
    ],
  ],
];

export function show() {
  return {
    nodes: [
      topBar('Keys'),
      h(
        'div',
        { class: 'pad keys' },
        KEYS.map(([title, list]) =>
          h(
            'section',
            null,
            h('h2', null, title),
            h(
              'dl',
              null,
              list.map(([keys, does]) => [
                h(
                  'dt',
                  null,
                  keys.split(/ or |, /).map(key => h('kbd', null, key)),
                ),
                h('dd', null, does),
              ]),
            ),
          ),
        ),
      ),
    ],
  };
}
