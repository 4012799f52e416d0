/** A real Prometheus, which scrapes its targets every second. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../free-port.ts'
import { until } from '../until.ts'

const PROMETHEUS = '/usr/bin/prometheus'

export type Series = Readonly<Record<string, string>>

export interface RunningPrometheus {
  /** The data of an answer of its API: `/api/v1/PATH?name=value`. */
  // biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
  ask(path: string, parameters?: Readonly<Record<string, string>>): Promise<any>
  stop(): Promise<void>
}

/** `targets` are host and port, by the name of their job. */
export async function startPrometheus(
  targets: Readonly<Record<string, string>>,
): Promise<RunningPrometheus> {
  if (!existsSync(PROMETHEUS))
    throw new Error(`${PROMETHEUS} is missing; get it with: apt-get install -y prometheus`)
  const dir = await mkdtemp(join(tmpdir(), 'gw-prometheus-'))
  const jobs = Object.entries(targets).map(([job_name, target]) => ({
    job_name,
    static_configs: [{ targets: [target] }],
  }))
  const file = join(dir, 'prometheus.yml')
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    storage: { exemplars: { max_exemplars: 1000 } },
    scrape_configs: jobs,
  }
  await writeFile(file, JSON.stringify(config))
  const listening = `127.0.0.1:${await freePort()}`
  const child = spawn(PROMETHEUS, [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    `--web.listen-address=${listening}`,
    '--enable-feature=exemplar-storage',
  ])
  let output = ''
  child.stderr.on('data', (text) => {
    output += text
  })
  const exited = once(child, 'close')
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    await rm(dir, { recursive: true, force: true })
  }
  const running: RunningPrometheus = {
    async ask(path, parameters = {}) {
      const url = `http://${listening}/api/v1/${path}?${new URLSearchParams(parameters)}`
      const { status, data, error } = (await (await fetch(url)).json()) as Record<string, unknown>
      if (status !== 'success') throw new Error(`${path}: ${error}`)
      return data
    },
    stop,
  }
  try {
    await until('Prometheus answers', async () => {
      if (child.exitCode !== null) throw new Error(output)
      return await running.ask('status/buildinfo').then(
        () => true,
        () => false,
      )
    })
  } catch (error) {
    await stop()
    throw error
  }
  return running
}
