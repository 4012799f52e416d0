/** Commands of a page with their output, and the parts of it that differ between runs. */
import { marked } from 'marked'

export interface Step {
  readonly command: string
  readonly output: string
}

/** A command, or the mark of an event before the next command. */
export type Part = Step | { readonly stops: string }

export function partsOf(page: string): Part[] {
  return marked.lexer(page).flatMap((token): Part[] => {
    const stops = /^<!-- stops: (\w+) -->/.exec(token.raw)?.[1]
    if (stops !== undefined) return [{ stops }]
    if (token.type !== 'code' || token.lang !== 'console') return []
    return String(token.text)
      .split(/^\$ /m)
      .slice(1)
      .map((text) => {
        const [command = '', ...lines] = text.trimEnd().split('\n')
        return { command, output: lines.join('\n') }
      })
  })
}

export function fileOf(page: string): string {
  const found = marked.lexer(page).find((token) => token.type === 'code' && token.lang === 'yaml')
  return found?.type === 'code' ? found.text : ''
}

/** The page with new outputs, in the order of its commands. */
export function rewritten(page: string, outputs: readonly string[]): string {
  let next = 0
  return page.replaceAll(/^```console\n([\s\S]*?)^```$/gm, (_, text: string) => {
    const commands = text.split(/^\$ /m).slice(1)
    const steps = commands.map((one) => {
      const output = outputs[next++] ?? ''
      return `$ ${one.split('\n')[0]}\n${output === '' ? '' : `${output.trimEnd()}\n`}`
    })
    return `\`\`\`console\n${steps.join('\n')}\`\`\``
  })
}

const SPAN = String.raw`\d+(?:\.\d+)? (?:ms|s|min|h|d|y)\b`
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/gw_live_([a-z]+)_\w+/g, 'gw_live_$1_KEY'],
  [/^sent \d+ of \d+\n|^.* …\n/gm, ''],
  [/\b[0-9a-f]{12}-\w+/g, 'ID'],
  [/\b[0-9a-f]{12}\b/g, 'HASH'],
  [/(?:\/[\w.-]+)+\/(?=gw\.yaml)/g, ''],
  [/unix:\S+/g, 'SOCKET'],
  [/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, 'TIME'],
  [/^\d\d:\d\d:\d\d/gm, 'TIME'],
  [new RegExp(`${SPAN}(?: ${SPAN})?`, 'g'), 'SPAN'],
  [/(?:in SPAN|SPAN ago|now)$/gm, 'WHEN'],
  [/\d+(?:\.\d+)?/g, 'N'],
  [/[ \r]+$/gm, ''],
  [/ {2,}/g, '  '],
]

/** The shape of an output: the same in every run. Repeated lines of one shape count once. */
export function shapeOf(output: string): string {
  const text = VOLATILE.reduce((rest, [found, name]) => rest.replaceAll(found, name), output.trim())
  return text
    .split('\n')
    .filter((line, index, lines) => line !== lines[index - 1])
    .join('\n')
}
