/** Log lines for a file: gathered as bytes in pages, or passed to the writer as strings. */
import { openSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import sonicBoom from 'sonic-boom'
import { LineSink } from '../../../dataplane/telemetry/lines/line-sink.ts'
import { compare } from './runner.ts'

const LINE = `${JSON.stringify({ event: 'request', words: 'x'.repeat(300) })}\n`
/** Requests that end in one turn of the event loop. */
const A_TURN = 20

const descriptor = openSync('/dev/null', 'w')
const sink = new LineSink(descriptor, () => undefined)
const boom = new sonicBoom.SonicBoom({ fd: descriptor, sync: false, minLength: 16_383 })

const work = (write: (line: string) => void) => async (times: number) => {
  for (let done = 0; done < times; done += A_TURN) {
    for (let index = 0; index < A_TURN; index++) write(LINE)
    await turn()
  }
}

await compare(import.meta.url, 400_000, {
  'pages of bytes': work((line) => sink.write(line)),
  strings: work((line) => boom.write(line)),
})
process.exit()
