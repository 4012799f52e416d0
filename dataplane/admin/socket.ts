/** Prepares the folder of the admin socket and its token, and removes files of a dead gateway. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { folderFault, portsIn, socketIn, tokenIn } from './place.ts'

const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
/** `sun_path` of Linux without its end; macOS has four bytes less. */
const PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103
/** Sockets that a start tries at a time when it cleans the folder. */
const TRIED_MAX = 100
/** A gateway that starts at the same time has created its socket and does not listen yet. */
const YOUNG_MS = 1000
const START_MS = 100
/** A refused connection fails at once, but a busy machine may notice late. */
const CONNECT_MS = 10_000
const TOKEN_BYTES = 32

/** The socket cannot be offered; `message` says why. */
export class SocketError extends Error {}

/** Another gateway answers on the socket. */
export class LiveSocketError extends Error {}

/** Throws a SocketError if the folder cannot be used or trusted. */
export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: OWNER_ONLY_FOLDER })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unusable(error)
  }
  const fault = faultOf(folder)
  if (fault !== undefined) throw new SocketError(fault)
  chmodSync(folder, OWNER_ONLY_FOLDER)
}

/** Removes a socket without a listener. */
export async function clearSocket(path: string): Promise<void> {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw new SocketError(`${path} is longer than the ${PATH_BYTES_MAX} bytes a socket may have`)
  }
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw new SocketError(`${path} exists and is not a socket`)
  if (await isAnswered(path)) {
    throw new LiveSocketError(
      `another gateway answers at ${path}; stop it or choose another gw.gateway.listen_port`,
    )
  }
  rmSync(path, { force: true })
}

/** Removes files of this user's killed gateways: sockets that refuse, and their tokens. It never fails. */
export async function sweepSockets(folder: string): Promise<void> {
  let ports: readonly number[] = []
  try {
    ports = portsIn(folder)
  } catch {
    return
  }
  for (let at = 0; at < ports.length; at += TRIED_MAX)
    await Promise.all(ports.slice(at, at + TRIED_MAX).map((port) => sweep(folder, port)))
}

async function sweep(folder: string, port: number): Promise<void> {
  const path = socketIn(folder, port)
  try {
    const found = lstatSync(path)
    if (!found.isSocket() || found.uid !== process.getuid?.() || !(await refuses(path))) return
    if (Date.now() - found.mtimeMs < YOUNG_MS) {
      await delay(START_MS)
      if (!(await refuses(path))) return
    }
    // Another gateway may have made a new one meanwhile.
    if (lstatSync(path).ino !== found.ino) return
    rmSync(path, { force: true })
    rmSync(tokenIn(folder, port), { force: true })
  } catch {
    // The file is gone, or cannot be removed.
  }
}

/** The folder already excludes other users; the mode protects the socket if it is moved. */
export function closeToOthers(path: string): void {
  chmodSync(path, OWNER_ONLY_FILE)
}

export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

/** Writes all of the file or nothing, never readable by others. */
export function writeToken(path: string, token: string): void {
  const next = `${path}.${process.pid}`
  try {
    rmSync(next, { force: true })
    writeFileSync(next, `${token}\n`, { mode: OWNER_ONLY_FILE, flag: 'wx' })
    renameSync(next, path)
  } catch (error) {
    throw unusable(error)
  }
}

async function isAnswered(path: string): Promise<boolean> {
  const failure = await connectionFailure(path)
  return failure !== 'ECONNREFUSED' && failure !== 'ENOENT'
}

async function refuses(path: string): Promise<boolean> {
  return (await connectionFailure(path)) === 'ECONNREFUSED'
}

/** The code of the error; undefined if the connection succeeds. */
async function connectionFailure(path: string): Promise<string | undefined> {
  const socket = connect(path)
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) })
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).name
  } finally {
    socket.destroy()
  }
}

function faultOf(folder: string): string | undefined {
  try {
    return folderFault(folder)
  } catch (error) {
    throw unusable(error)
  }
}

function unusable(error: unknown): SocketError {
  return new SocketError(error instanceof Error ? error.message : String(error), { cause: error })
}
