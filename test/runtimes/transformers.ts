/** A real `transformers serve` with the scripted model: Debian's packages, unpacked once into a folder of the user's cache. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../helpers/free-port.ts'
import { PYTHON, preparePython } from '../helpers/model/model-server.ts'
import { answers, until } from '../helpers/until.ts'
import { CACHE, type Runtime } from './cache.ts'

const SUITE = 'forky'
const ROOT = join(CACHE, `transformers-${SUITE}`)
const MAKE_MODEL = join(import.meta.dirname, '../helpers/model/make-model.py')
const PACKAGES = [
  ...['torch', 'transformers', 'uvicorn', 'fastapi', 'accelerate', 'openai', 'rich'].map(
    (name) => `python3-${name}`,
  ),
  'coreutils',
  'dash',
  'base-files',
]
const LIBRARIES = '/usr/lib/x86_64-linux-gnu'
/** Its mounts go with it. */
const SERVE = `mount --bind /proc "$1/proc" && mkdir -p "$1/mnt" && mount --bind "$2" "$1/mnt" && exec chroot "$1" /usr/bin/env -i \
PATH=/usr/bin:/bin HOME=/tmp HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 LD_LIBRARY_PATH=${LIBRARIES}/blas:${LIBRARIES}/lapack \
transformers serve --host 127.0.0.1 --port "$3" --device cpu --dtype float32 /mnt/tiny`
const run = promisify(execFile)

/** Serves the scripted model by the name `/mnt/tiny`. It needs root, to mount and to change its root. */
export async function startTransformers(): Promise<Runtime> {
  if (!existsSync(ROOT)) await unpack()
  await preparePython()
  const folder = await mkdtemp(join(tmpdir(), 'gw-transformers-'))
  await run(PYTHON, [MAKE_MODEL, '--folder', join(folder, 'tiny')])
  const port = await freePort()
  const argv = ['--mount', 'sh', '-c', SERVE, 'sh', ROOT, folder, String(port)]
  const child = spawn('unshare', argv, { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    await rm(folder, { recursive: true, force: true })
  }
  try {
    // It loads PyTorch first.
    await until('transformers answers', () => answers(`${url}/health`), 180)
    return { url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function unpack(): Promise<void> {
  const partial = `${ROOT}.${process.pid}`
  await run('mmdebstrap', [
    '--variant=extract',
    '--aptopt=Acquire::Check-Valid-Until "false"',
    '--aptopt=APT::Install-Recommends "false"',
    `--include=${PACKAGES.join(',')}`,
    SUITE,
    partial,
  ])
  await rename(partial, ROOT)
}
