// The key ruler: the key space from top to bottom, what the filter reads of it, and which rows are in view.

import { h, put, s, count, visible, shortened } from './dom.js';
import { touchesPartition } from './ladder.js';

const MARGIN = 12,
  BLOCKS_MAX = 400,
  LABEL_EVERY = 60;
const COLOURS = { point: 'point', range: 'range', partition: 'part', table: 'table' };

export class Ruler {
  /** on.pick(partition key). */
  constructor(on) {
    Object.assign(this, { on, parts: [], places: [], seen: null });
    this.node = h('div', {
      class: 'ruler',
      role: 'img',
      'aria-label': 'The keys of the table, and what the filter reads of them',
    });
    this.bracket = s('rect', { class: 'seen', x: 4, width: 3, rx: 1 });
  }

  /**
   * Partitions to scale; where there are more than the server counts one by one, stretches of the
   * sample of keys, each named by its first.
   */
  set({ partitions, sample, entities }) {
    const listed = partitions.largest.map(each => [each.partitionKey, each.entities]);
    const step = Math.ceil(sample.keys.length / BLOCKS_MAX),
      share = entities / Math.max(1, sample.keys.length);
    this.parts =
      partitions.count <= listed.length
        ? listed.sort((a, b) => (a[0] < b[0] ? -1 : 1))
        : sample.keys
            .filter((_, i) => i % step === 0)
            .map(key => [key.partitionKey, Math.round(share * step)]);
  }

  draw(explained, hasFilter) {
    const height = this.node.clientHeight || 600,
      total = this.parts.reduce((sum, [, size]) => sum + (size || 1), 0);
    const scale = (height - 2 * MARGIN) / total,
      css = explained && hasFilter ? COLOURS[explained.plan] : null;
    let y = MARGIN,
      labelled = -LABEL_EVERY;
    this.places = [];
    if (!total) {
      put(this.node);
      return;
    }
    const isFine = this.parts.length > 40;
    put(
      this.node,
      s(
        'svg',
        { 'aria-hidden': 'true' },
        this.bracket,
        this.parts.slice(0, BLOCKS_MAX).map(([key, size]) => {
          const room = (size || 1) * scale,
            gap = room > 6 ? 2 : room > 3 ? 1 : 0,
            tall = Math.max(1, room - gap),
            at = y;
          y += room;
          this.places.push({ key, at, tall });
          const hasName = isFine ? at - labelled >= LABEL_EVERY : tall >= 13;
          if (hasName) labelled = at;
          return [
            s(
              'rect',
              {
                class: 'pick',
                x: 0,
                y: at,
                width: '100%',
                height: Math.max(1, room),
                onclick: () => this.on.pick(key),
              },
              s('title', null, `${visible(key)}: ${count(size || 0)}`),
            ),
            s('rect', {
              class: 'blk',
              x: 12,
              y: at,
              width: 9,
              height: tall,
              rx: tall > 3 ? 1 : 0,
              'pointer-events': 'none',
            }),
            css &&
              touchesPartition(explained.ranges || [], key) &&
              s('rect', {
                class: `fill-${css}`,
                x: 10,
                y: at,
                width: 13,
                height:
                  explained.plan === 'partition' || explained.plan === 'table'
                    ? Math.max(3, tall)
                    : 3,
                rx: 1,
                'pointer-events': 'none',
              }),
            hasName &&
              s(
                'text',
                { x: 28, y: at + 10, 'pointer-events': 'none' },
                shortened(visible(key), 13),
              ),
            !isFine &&
              tall >= 28 &&
              s(
                'text',
                { class: 'c', x: 28, y: at + 24, 'pointer-events': 'none' },
                count(size || 0),
              ),
          ];
        }),
      ),
    );
    if (this.seen) this.show(...this.seen);
  }

  /** Rows from this one to that one are in view; `shares`: how far down they are, when that is known. */
  show(first, last, shares) {
    this.seen = [first, last, shares];
    const room = (this.node.clientHeight || 600) - 2 * MARGIN;
    const placeOf = entity => entity && this.places.findLast(each => each.key <= entity.partition);
    const [from, to] = shares
      ? shares.map(share => ({ at: MARGIN + share * room, tall: 0 }))
      : [placeOf(first), placeOf(last)];
    if (!from || !to || !this.places.length) {
      this.bracket.setAttribute('height', 0);
      return;
    }
    this.bracket.setAttribute('y', from.at);
    this.bracket.setAttribute('height', Math.max(3, to.at + to.tall - from.at));
  }
}
