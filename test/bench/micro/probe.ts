/** A health probe on a separate connection, and over a pool of undici that keeps no connection between two probes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openPool, transportTo } from '../../../dataplane/connection/client.ts'
import { askStatus } from '../../../dataplane/connection/status-question.ts'
import { compare } from './runner.ts'

const AT_ONCE = 10
const SERVER = `require('node:http').createServer((_, out) => out.end('ok'))
  .listen(0, '127.0.0.1', function () { process.send(this.address().port) })`

const started = { child: undefined as ReturnType<typeof spawn> | undefined, origin: '' }

/** In another process, whose processor time is not counted. */
async function origin(): Promise<string> {
  if (started.child === undefined) {
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'] as const
    started.child = spawn(process.execPath, ['-e', SERVER], { stdio: [...stdio] })
    const [port] = await once(started.child, 'message')
    started.origin = `http://127.0.0.1:${port}`
    started.child.unref()
    started.child.channel?.unref()
    process.once('exit', () => started.child?.kill())
  }
  return started.origin
}

const destination = async () => ({
  origin: await origin(),
  timeoutMs: 2000,
  section: { connect_timeout_seconds: 2 },
})
// Neither a proxy nor certificates are needed here.
const whole = {} as Parameters<typeof transportTo>[1]

function inTurns(ask: () => Promise<unknown>) {
  return async (times: number) => {
    for (let done = 0; done < times; done += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, ask))
  }
}

await compare(import.meta.url, 1000, {
  'a separate connection': async (times) => {
    const transport = transportTo(await destination(), whole)
    await inTurns(() => askStatus(transport, '/health', 2000))(times)
  },
  'a pool of undici': async (times) => {
    const upstream = await destination()
    await inTurns(async () => {
      const pool = openPool(upstream, whole, 1)
      const { body } = await pool.request({
        path: '/health',
        method: 'GET',
        signal: AbortSignal.timeout(2000),
      })
      await body.dump({ limit: 65_536 })
      await pool.close()
    })(times)
  },
})
