/** Measures translated requests and stream events next to unchanged bytes: files of `micro/`. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { median } from './medians.ts'
import { table } from './report.ts'

const WAYS = ['openai, passed', 'anthropic', 'gemini', 'bedrock']
const FILES = [
  { file: 'translate-requests.ts', label: 'CPU µs per request written' },
  { file: 'translate-streams.ts', label: 'CPU µs per stream event read' },
]

/** The table as Markdown: each way in a separate process, round by round over all of them. */
export function measureTranslation(rounds: number): string {
  const measured = Array.from({ length: rounds }, () =>
    FILES.map(({ file }) => WAYS.map((way) => microseconds(file, way))),
  )
  const lines = FILES.map(({ label }, row) => {
    const cells = WAYS.map((_, column) =>
      median(measured.map((round) => round[row]?.[column] ?? 0)),
    )
    return [label, ...cells.map((us) => us.toFixed(1))]
  })
  return ['## Translation', '', ...table(['', ...WAYS], lines), ''].join('\n')
}

function microseconds(file: string, way: string): number {
  const path = join(import.meta.dirname, 'micro', file)
  const { stdout, stderr, status } = spawnSync(process.execPath, [path, way], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout).ns / 1000
}
