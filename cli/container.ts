#!/usr/bin/env node
/** Starts the program of the image: `operator`, `gateway`, a pod's gateway without arguments, else the tool `gw`. */
import { join } from 'node:path'
import { startAnew } from '../dataplane/base/start-anew.ts'
import { SMALL } from '../dataplane/main.ts'

const PROGRAMS: Readonly<Record<string, string>> = {
  operator: 'operator/main.ts',
  gateway: 'dataplane/main.ts',
}

const [first, ...rest] = process.argv.slice(2)
// The operator starts its pods without arguments, so that their image may be of another release.
const asked = first ?? (process.env.GW_BUNDLE_DIR ? 'gateway' : '--help')
const isProgram = Object.hasOwn(PROGRAMS, asked)
const file = join(import.meta.dirname, '..', PROGRAMS[isProgram ? asked : ''] ?? 'cli/main.ts')
const given = isProgram ? rest : [asked, ...rest]

// Sets the flags now, so that the gateway need not restart itself.
if (file.endsWith('dataplane/main.ts')) startAnew(SMALL, process.env, [file, ...given])
// The program replaces this process, so it receives the signals and sets the exit code of the container.
process.execve?.(process.execPath, [process.execPath, file, ...given], process.env)
