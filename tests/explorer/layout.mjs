// What is looked at in a page to judge its layout.  `drawn`, `problems` and `boxes` run in the page.

/** Until what has changed its size is drawn. */
export const drawn = () =>
  new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));

/** What overlaps, is cut off, or scrolls sideways; `sideways`: selectors of what may. */
export function problems(sideways) {
  const found = [],
    seen = new Set();
  const say = text => {
    if (!seen.has(text)) {
      seen.add(text);
      found.push(text);
    }
  };
  const name = element =>
    `${element.tagName.toLowerCase()}${element.className && typeof element.className === 'string' ? `.${element.className.trim().replace(/\s+/g, '.')}` : ''} "${(element.textContent || element.getAttribute('aria-label') || '').trim().slice(0, 30)}"`;
  const clips = (style, axis) => style[`overflow${axis}`] !== 'visible',
    scrolls = (style, axis) => ['auto', 'scroll'].includes(style[`overflow${axis}`]);
  // What says in a title what it cannot show, and what is one line of many by its nature.
  const mayBeCut =
    '[title], .nm, .crumb, .gr > :not(.st1):not(.st2), .two .v, .top .facts, .hkeys, .acct, .sr, .qedit, .log';
  // What lies over other things on purpose.
  const above =
    'dialog, .toast, .pop, .skip, .ghg, .st0, .st1, .st2, .heatbox, .app.nav .side, .qedit, .rs, .size';
  const covers = element =>
    element.closest(above) ||
    (getComputedStyle(element.closest('.insp') || document.body).position === 'fixed' &&
      element.closest('.insp'));

  if (document.documentElement.scrollWidth > innerWidth)
    say(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const element of document.querySelectorAll('.app *')) {
    if (
      element.scrollWidth > element.clientWidth + 1 &&
      scrolls(getComputedStyle(element), 'X') &&
      element.clientWidth &&
      !sideways.some(each => element.matches(each))
    )
      say(`${name(element)} scrolls sideways`);
  }

  /** What is left of a rectangle in what clips it; `lost`: cut away where nobody can scroll. */
  function visiblePart(element, rect) {
    let { left, top, right, bottom } = rect,
      lost = 0;
    for (let each = element; each && each !== document.documentElement; each = each.parentElement) {
      const style = getComputedStyle(each),
        box = each.getBoundingClientRect();
      if (clips(style, 'X')) {
        if (!scrolls(style, 'X')) lost = Math.max(lost, box.left - left, right - box.right);
        left = Math.max(left, box.left);
        right = Math.min(right, box.right);
      }
      if (clips(style, 'Y')) {
        if (!scrolls(style, 'Y')) lost = Math.max(lost, box.top - top, bottom - box.bottom);
        top = Math.max(top, box.top);
        bottom = Math.min(bottom, box.bottom);
      }
      if (style.position === 'fixed') break;
    }
    return {
      left: Math.max(0, left),
      top: Math.max(0, top),
      right: Math.min(innerWidth, right),
      bottom: Math.min(innerHeight, bottom),
      lost,
    };
  }

  const shown = [],
    walker = document.createTreeWalker(document.querySelector('.app'), NodeFilter.SHOW_TEXT),
    range = document.createRange();
  while (walker.nextNode()) {
    const { currentNode: node } = walker,
      element = node.parentElement;
    if (
      !node.data.trim() ||
      !element.checkVisibility({ visibilityProperty: true }) ||
      element.closest("svg, option, .sr, textarea, [aria-hidden='true']")
    )
      continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects())
      shown.push({ element, rect, text: node.data.trim().slice(0, 30) });
  }
  for (const element of document.querySelectorAll('.app :is(button, input, select, textarea)'))
    if (element.checkVisibility({ visibilityProperty: true }) && !element.closest('.sr'))
      shown.push({
        element,
        rect: element.getBoundingClientRect(),
        text: element.getAttribute('aria-label') || element.textContent.slice(0, 30),
      });

  const parts = [];
  for (const { element, rect, text } of shown) {
    const part = visiblePart(element, rect);
    if (part.lost > 2 && !element.closest(mayBeCut))
      say(`"${text}" is cut by ${Math.round(part.lost)} in ${name(element)}`);
    if (part.right - part.left < 4 || part.bottom - part.top < 4) continue; // scrolled away
    const hit = document.elementFromPoint(
      (part.left + part.right) / 2,
      (part.top + part.bottom) / 2,
    );
    const label = element.closest('label'); // a label and its field are one
    if (
      hit &&
      !hit.contains(element) &&
      !element.contains(hit) &&
      !covers(hit) &&
      !(label && label === hit.closest('label'))
    )
      say(`"${text}" lies below ${name(hit)}`);
    if (
      hit &&
      (hit.contains(element) || element.contains(hit)) &&
      !element.closest('.grid, .hmap, .qedit')
    )
      parts.push({ element, text, ...part });
  }
  parts.sort((a, b) => a.top - b.top);
  parts.forEach((one, i) => {
    for (let j = i + 1; j < parts.length && parts[j].top < one.bottom - 3; j++) {
      const other = parts[j],
        isInside = one.element.contains(other.element) || other.element.contains(one.element);
      if (
        !isInside &&
        other.left < one.right - 3 &&
        one.left < other.right - 3 &&
        Math.min(one.bottom, other.bottom) - other.top > 3
      )
        say(`"${one.text}" and "${other.text}" overlap`);
    }
  });
  // Where a table has no head, its cells say what they are: all but what a row is called and what can be done.
  for (const table of document.querySelectorAll('.app table')) {
    const isHeadless = table.tHead && !table.tHead.checkVisibility();
    for (const row of isHeadless ? table.tBodies[0].rows : []) {
      const nameless = [...row.cells].filter(
        cell => cell.textContent.trim() && getComputedStyle(cell, '::before').content === 'none',
      );
      if (nameless.length > 2)
        say(`${name(nameless[0])} and ${name(nameless[1])} do not say what they are`);
    }
  }

  // A button that has no room in the bar takes another with it.
  const lines = new Map();
  for (const each of document.querySelectorAll('.top > :is(button, a, h1)')) {
    if (!each.checkVisibility()) continue;
    const { top, height } = each.getBoundingClientRect();
    const line = Math.round((top + height / 2) / 20);
    lines.set(line, [...(lines.get(line) || []), each]);
  }
  for (const line of lines.values())
    if (lines.size > 1 && line.length === 1) say(`${name(line[0])} is alone in a line of the bar`);
  return found.slice(0, 20);
}

/** {landmark: [left, top, width, height]} of what is shown; in what scrolls, texts decide top and height, which are null. */
export function boxes(landmarks) {
  const found = {};
  for (const each of landmarks) {
    [...document.querySelectorAll(each)]
      .filter(element => element.checkVisibility({ visibilityProperty: true }))
      .slice(0, each.startsWith('main ') ? 1 : 12)
      .forEach((element, i) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        found[i ? `${each} ${i + 1}` : each] = element.parentElement.closest('.pad, .page')
          ? [Math.round(left), null, Math.round(width), null]
          : [left, top, width, height].map(Math.round);
      });
  }
  return found;
}

// Fonts differ a little, and numbers have more or fewer digits; a line more or less is no other layout.
const LEAST = { left: 24, width: 24, top: 40, height: 40 },
  SHARE = 0.06;

/** How boxes differ from those of the reference. */
export function differences(wanted, found) {
  const sides = ['left', 'top', 'width', 'height'];
  return [...new Set([...Object.keys(wanted), ...Object.keys(found)])].flatMap(name => {
    if (!wanted[name] || !found[name]) return [`${name} is ${found[name] ? 'new' : 'gone'}`];
    return sides
      .filter(
        (side, i) =>
          wanted[name][i] !== null &&
          Math.abs(wanted[name][i] - found[name][i]) >
            Math.max(LEAST[side], SHARE * wanted[name][i]),
      )
      .map(
        side =>
          `${name}: its ${side} is ${found[name][sides.indexOf(side)]}, not ${wanted[name][sides.indexOf(side)]}`,
      );
  });
}
