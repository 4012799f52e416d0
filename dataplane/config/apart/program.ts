/** The process that loads a configuration for another one: `program.ts file|input PATH`. */
import { text } from 'node:stream/consumers'

// A terminal sends its signals to both; the other process decides, and this one ends by itself soon.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)

const [source, file = ''] = process.argv.slice(2)
try {
  const [{ hostOf, readText }, { loadData }, { send }] = await Promise.all([
    import('../document/source.ts'),
    import('../load.ts'),
    import('./lines.ts'),
  ])
  const document = source === 'input' ? await text(process.stdin) : readText(file)
  send(loadData(document, file, hostOf(process.env), 'run'))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
