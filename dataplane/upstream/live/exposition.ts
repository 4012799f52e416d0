/** Reads one metric's samples from a Prometheus text, without parsing the rest. */

export interface Sample {
  readonly labels: ReadonlyMap<string, string>
  readonly value: number
}

/** Most series, more than any runtime has engines and ranks. */
const SAMPLES_MAX = 4096
const LABELS_MAX = 64

/** The samples of a metric of exactly this name; malformed lines are skipped. */
export function samplesOf(text: string, metric: string): readonly Sample[] {
  const samples: Sample[] = []
  let at = text.indexOf(metric)
  while (at >= 0 && samples.length < SAMPLES_MAX) {
    const end = lineEnd(text, at)
    if (beginsLine(text, at)) {
      const sample = sampleOf(text.slice(at + metric.length, end))
      if (sample !== undefined) samples.push(sample)
    }
    at = text.indexOf(metric, end)
  }
  return samples
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

/** Only blanks may precede a name; otherwise this is a comment or a longer name. */
function beginsLine(text: string, at: number): boolean {
  let before = at - 1
  while (text[before] === ' ' || text[before] === '\t') before--
  return before < 0 || text[before] === '\n'
}

/** The text after the name: labels in braces or not, blanks, the value, perhaps a time. */
function sampleOf(rest: string): Sample | undefined {
  const labels = new Map<string, string>()
  let at = 0
  if (rest.trimStart().startsWith('{')) {
    at = readLabels(rest, rest.indexOf('{') + 1, labels)
    if (at < 0) return undefined
  } else if (rest[0] !== ' ' && rest[0] !== '\t') {
    return undefined
  }
  const value = /^[ \t]*(\S+)/.exec(rest.slice(at))?.[1]
  return value === undefined ? undefined : { labels, value: Number(value) }
}

const LABEL = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*/y

/** Reads labels up to the closing brace; the place after it, or -1. */
function readLabels(rest: string, from: number, labels: Map<string, string>): number {
  let at = from
  while (labels.size < LABELS_MAX) {
    LABEL.lastIndex = at
    const label = LABEL.exec(rest)
    if (label?.[1] === undefined || label[2] === undefined) break
    labels.set(label[1], label[2])
    at = LABEL.lastIndex
    if (rest[at] !== ',') break
    at++
  }
  const close = /[ \t]*\}/y
  close.lastIndex = at
  return close.test(rest) ? close.lastIndex : -1
}
