/**
 * An image of llama.cpp's server with the tiny model whose output is known, from Debian's packages.
 */
import { existsSync } from 'node:fs'
import { copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { prepareModel, preparePython } from '../helpers/model/model-server.ts'
import { importFolder } from './node/images.ts'
import { run } from './node/system.ts'

const IMAGE = 'localhost/gw-test/llama:1'
/** The first suite with this package. Its mirrors may lag, so its signature may be out of date. */
const SUITE = 'forky'
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'gw-test')

/** The name of the image in the node. */
export async function provideModelImage(): Promise<string> {
  await preparePython()
  const model = await prepareModel('script', 2)
  const folder = await provideServer()
  await mkdir(join(folder, 'models'), { recursive: true })
  await copyFile(model, join(folder, 'models/model.gguf'))
  const options = ['--model', '/models/model.gguf', '--host', '0.0.0.0', '--port', '9000']
  const more = ['--alias', 'tiny', '--parallel', '2', '--ctx-size', '8192', '--threads', '1']
  const command = ['/usr/bin/llama-server', ...options, ...more, '--metrics', '--jinja']
  await importFolder({ name: IMAGE, folder, command })
  return IMAGE
}

async function provideServer(): Promise<string> {
  const folder = join(CACHE, `llama-${SUITE}`)
  if (existsSync(folder)) return folder
  const part = `${folder}.${process.pid}`
  const options = ['Acquire::Check-Valid-Until "false"', 'APT::Install-Recommends "false"']
  try {
    await run('mmdebstrap', [
      '--variant=extract',
      '--quiet',
      ...options.map((option) => `--aptopt=${option}`),
      '--include=llama.cpp-tools,base-files',
      SUITE,
      part,
    ])
    await rename(part, folder)
  } finally {
    await rm(part, { recursive: true, force: true })
  }
  return folder
}
