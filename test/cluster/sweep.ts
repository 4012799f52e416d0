/** Removes the remains of a killed run: its programs by their recorded ids, and its folder. */
import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const FOLDER = /^gw-cluster-(\d+)-/

export async function sweepFormerRuns(): Promise<void> {
  const names = await readdir(tmpdir())
  for (const name of names) {
    const owner = Number(FOLDER.exec(name)?.[1] ?? 0)
    if (owner === 0 || isAlive(owner)) continue
    await sweep(join(tmpdir(), name))
  }
}

async function sweep(folder: string): Promise<void> {
  const files = await readdir(folder).catch(() => [])
  for (const file of files) {
    if (!file.endsWith('.pid')) continue
    const pid = Number(await readFile(join(folder, file), 'utf8').catch(() => ''))
    // Ids are reused: only a process that runs in this folder is the recorded program.
    const runsIn = await readlink(`/proc/${pid}/cwd`).catch(() => '')
    if (pid > 0 && runsIn === folder && isAlive(pid)) process.kill(pid, 'SIGKILL')
  }
  await rm(folder, { recursive: true, force: true }).catch(() => undefined)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
