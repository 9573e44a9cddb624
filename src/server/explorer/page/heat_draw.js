// Colours and pixels of the heat map.

import { h } from './dom.js';
import { EQUAL } from './heat_data.js';

const RAMPS = {
  dark: ['121517', '1d2550', '4c2a86', '98307f', 'd9484f', 'f88f2f', 'fbd657', 'fdfbd8'],
  light: ['f8f9fa', 'fff0c2', 'fdcf6b', 'f6963c', 'dd5548', 'a3307a', '592a86', '191647'],
};
// Less, the same, more: as light on one side as on the other.
const CHANGES = {
  dark: ['b9d3ff', '4c8df0', '121517', 'c97c28', 'f8ca93'],
  light: ['143f86', '5f97e4', 'f8f9fa', 'd98a3a', '6e3a02'],
};

const bytesOf = hex => [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16));

function between(stops, part) {
  const at = part * (stops.length - 1),
    low = Math.floor(at),
    high = Math.min(low + 1, stops.length - 1);
  return stops[low].map((value, i) => Math.round(value + (stops[high][i] - value) * (at - low)));
}

/** 256 colours of a theme; `power` above 1 keeps the ordinary pale.  0 is the paper, 1 can be seen. */
export function palette(theme, power) {
  const stops = RAMPS[theme].map(bytesOf);
  return Array.from({ length: 256 }, (_, code) =>
    between(stops, code === 0 ? 0 : 0.06 + 0.94 * (code / 255) ** power),
  );
}

/** The same for differences: 128 is the paper. */
export function changePalette(theme, power) {
  const stops = CHANGES[theme].map(bytesOf);
  return Array.from({ length: 256 }, (_, code) => {
    const side = Math.sign(code - EQUAL),
      strength = Math.min(1, Math.abs(code - EQUAL) / 127);
    return between(stops, 0.5 + side * (side && 0.04 + 0.46 * strength ** power));
  });
}

/**
 * Draw a part of the cells: `rect` is {x0, x1, y0, y1} in slots and buckets.  Where a pixel has several
 * cells under it, it takes the strongest, so that a line one bucket thin survives.
 */
export function drawCells(canvas, data, rect, colours, isFlipped) {
  const { buckets, cells } = data,
    { width, height } = canvas;
  const left = Math.floor(rect.x0),
    right = Math.ceil(rect.x1),
    low = Math.floor(rect.y0),
    high = Math.ceil(rect.y1);
  const across = right - left,
    up = high - low,
    columns = Math.min(across, width),
    rows = Math.min(up, height);
  const strength = data.isDifference ? code => Math.abs(code - EQUAL) : code => code;
  const small = h('canvas', { width: columns, height: rows }),
    context = small.getContext('2d'),
    picture = context.createImageData(columns, rows),
    pixels = new Uint32Array(picture.data.buffer);
  const packed = Uint32Array.from(
      colours,
      ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0,
    ),
    none = data.isDifference ? EQUAL : 0;
  for (let column = 0; column < columns; column++) {
    const s0 = left + Math.floor((column * across) / columns),
      s1 = Math.max(s0 + 1, left + Math.floor(((column + 1) * across) / columns));
    for (let row = 0; row < rows; row++) {
      const b0 = low + Math.floor((row * up) / rows),
        b1 = Math.max(b0 + 1, low + Math.floor(((row + 1) * up) / rows));
      let best = none;
      for (let slot = s0; slot < s1; slot++)
        for (let bucket = b0; bucket < b1; bucket++) {
          const code = cells[slot * buckets + bucket];
          if (strength(code) > strength(best)) best = code;
        }
      pixels[(isFlipped ? row : rows - 1 - row) * columns + column] = packed[best];
    }
  }
  context.putImageData(picture, 0, 0);
  const over = canvas.getContext('2d'),
    x = ((rect.x0 - left) * columns) / across,
    y = ((isFlipped ? rect.y0 - low : high - rect.y1) * rows) / up;
  over.imageSmoothingEnabled = false;
  over.drawImage(
    small,
    x,
    y,
    ((rect.x1 - rect.x0) * columns) / across,
    ((rect.y1 - rect.y0) * rows) / up,
    0,
    0,
    width,
    height,
  );
}

/** A picture of 27 by 27 of a pattern, in the colours of the map. */
export function patternPicture(kind, colours) {
  const size = 27,
    canvas = h('canvas', { width: size, height: size, class: 'hpic', 'aria-hidden': 'true' }),
    context = canvas.getContext('2d');
  const hot =
    {
      even: () => 0,
      uneven: (x, y) => Math.abs(y - 13) < 5 && (x + y) % 2,
      stripes: x => x % 7 < 2,
      'hot-line': (x, y) => Math.abs(y - 13) < 2,
      rising: (x, y) => Math.abs(size - 1 - y - x) < 2,
      falling: (x, y) => Math.abs(y - x) < 2,
      wall: x => x > 12 && x < 15,
    }[kind] || (() => 0);
  for (let x = 0; x < size; x++) {
    for (let y = 0; y < size; y++) {
      context.fillStyle = `rgb(${colours[hot(x, y) ? 215 : 30 + ((x * 7 + y * 13) % 5) * 12]})`;
      context.fillRect(x, y, 1, 1);
    }
  }
  return canvas;
}

/** A number in a circle, whose middle is at (x, y). */
export function drawMarker(context, x, y, text, ink, paper) {
  context.beginPath();
  context.arc(x, y, 8.5, 0, 2 * Math.PI);
  context.fillStyle = ink;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = paper;
  context.stroke();
  context.fillStyle = paper;
  context.font = '600 11px system-ui, sans-serif';
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, x, y + 0.5);
}

/** A split or a merge: a dashed line from its time on, with a diamond where it happened. */
export function drawEvent(context, { x, y, width, text, isHollow }, ink, paper) {
  context.save();
  context.strokeStyle = paper;
  context.lineWidth = 3;
  context.globalAlpha = 0.55;
  context.beginPath();
  context.moveTo(Math.max(0, x), y);
  context.lineTo(width, y);
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = ink;
  context.lineWidth = 1;
  context.setLineDash([5, 4]);
  context.stroke();
  context.setLineDash([]);
  if (x >= 0 && x <= width) {
    context.beginPath();
    context.moveTo(x - 5, y);
    context.lineTo(x, y - 5);
    context.lineTo(x + 5, y);
    context.lineTo(x, y + 5);
    context.closePath();
    context.fillStyle = isHollow ? paper : ink;
    context.fill();
    context.stroke();
  }
  if (text) {
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'right';
    context.textBaseline = 'bottom';
    const wide = context.measureText(text).width;
    context.fillStyle = paper;
    context.globalAlpha = 0.8;
    context.fillRect(width - wide - 10, y - 15, wide + 8, 14);
    context.globalAlpha = 1;
    context.fillStyle = ink;
    context.fillText(text, width - 6, y - 2);
  }
  context.restore();
}
