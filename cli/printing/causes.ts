/** The causes of an error, for `-v`. */

const CAUSES_MAX = 8
const FRAMES_MAX = 4

export function isVerbose(): boolean {
  const words = process.argv.slice(2)
  const end = words.indexOf('--')
  const options = end === -1 ? words : words.slice(0, end)
  return options.some((word) => word === '-v' || word === '--verbose')
}

/** From the nearest to the first one; an error without a cause is shown with the place that threw it. */
export function causesOf(error: unknown): string[] {
  const lines: string[] = []
  let cause = error instanceof Error ? error.cause : undefined
  while (cause !== undefined && lines.length < CAUSES_MAX) {
    lines.push(lineOf(cause))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  if (lines.length > 0 || !(error instanceof Error)) return lines
  const frames = error.stack?.split('\n').filter((line) => /^ +at /.test(line)) ?? []
  return frames.slice(0, FRAMES_MAX).map((line) => line.trim())
}

/** An attempt at several addresses has a message only in its parts. */
function lineOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const { code, errors } = Object(cause)
  const said = cause.message || (Array.isArray(errors) ? errors.map(lineOf).join('; ') : '')
  const text = said === '' ? cause.name : said
  const isNamed = code === undefined || text.includes(String(code))
  return (isNamed ? text : `${text} (${code})`).replaceAll(/\s*\n\s*/g, ' ')
}
