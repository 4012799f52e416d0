/** A flame graph as one picture: each box is a call, as wide as its time; its title says how long. */
import type { Call } from './read.ts'
import { STAGES } from './stages.ts'

const WIDTH = 1_600
const ROW = 16
/** Narrower ones cannot be seen. */
const PIXELS_MIN = 0.5
const PIXELS_OF_A_LETTER = 6.5

export function drawFlames(root: Call, perRequest: (us: number) => number): string {
  const boxes: string[] = []
  let deepest = 0
  const scale = WIDTH / root.us
  const draw = (call: Call, x: number, depth: number): void => {
    const width = call.us * scale
    if (width < PIXELS_MIN) return
    deepest = Math.max(deepest, depth)
    const hue = (STAGES.indexOf(call.stage) * 360) / STAGES.length
    const letters = Math.floor(width / PIXELS_OF_A_LETTER)
    const y = depth * ROW
    const title = `${call.name}: ${perRequest(call.us).toFixed(2)} us a request, ${call.stage}`
    boxes.push(
      `<g><title>${escapeText(title)}</title>` +
        `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="hsl(${hue.toFixed(0)} 70% 75%)"/>` +
        `<text x="${(x + 2).toFixed(1)}" y="${y + 11}">${escapeText(call.name.slice(0, letters))}</text></g>`,
    )
    let from = x
    for (const next of call.calls.values()) {
      draw(next, from, depth + 1)
      from += next.us * scale
    }
  }
  draw(root, 0, 0)
  const height = (deepest + 1) * ROW
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="11">\n${boxes.join('\n')}\n</svg>\n`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
