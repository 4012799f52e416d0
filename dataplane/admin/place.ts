/** The files in which a stand-alone gateway offers its admin API: named by its port, in a folder of its user. */

import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../wire/credential-source.ts'

const OTHERS_WRITE = 0o022

/** The folder of this user, or undefined on systems that number no users. */
export function adminFolder(env: Environment): string | undefined {
  const uid = process.getuid?.()
  return uid === undefined ? undefined : join(env.XDG_RUNTIME_DIR || '/tmp', `gw-${uid}`)
}

export function socketIn(folder: string, listenPort: number): string {
  return join(folder, `${listenPort}.sock`)
}

/** The ports of all sockets in the folder, whether a gateway answers or not; other files are ignored. */
export function portsIn(folder: string): number[] {
  return readdirSync(folder).flatMap((name) => {
    const port = /^(\d{1,5})\.sock$/.exec(name)?.[1]
    return port === undefined ? [] : [Number(port)]
  })
}

export function tokenIn(folder: string, listenPort: number): string {
  return join(folder, `${listenPort}.token`)
}

/** Why the folder cannot be trusted, or undefined. Throws if it does not exist. */
export function folderFault(folder: string): string | undefined {
  const found = lstatSync(folder)
  if (found.isSymbolicLink()) return `${folder} is a symbolic link`
  if (!found.isDirectory()) return `${folder} is not a folder`
  if (found.uid !== process.getuid?.()) return `${folder} belongs to another user`
  if ((found.mode & OTHERS_WRITE) !== 0) return `other users may write to ${folder}`
  return undefined
}
