#!/usr/bin/env node
/** What the image starts: `operator`, `gateway`, the gateway of a pod where nothing is asked for, else the tool `gw`. */
import { join } from 'node:path'

const PROGRAMS: Readonly<Record<string, string>> = {
  operator: 'operator/main.ts',
  gateway: 'dataplane/main.ts',
}

const [first, ...rest] = process.argv.slice(2)
// The operator gives its pods no arguments, so that they can be of an image of another age.
const asked = first ?? (process.env.GW_BUNDLE_DIR ? 'gateway' : '--help')
const isProgram = Object.hasOwn(PROGRAMS, asked)
const file = join(import.meta.dirname, '..', PROGRAMS[isProgram ? asked : ''] ?? 'cli/main.ts')
const given = isProgram ? rest : [asked, ...rest]

// In its place and not as a child: signals reach the program itself, and nobody has to pass its end on.
process.execve?.(process.execPath, [process.execPath, file, ...given], process.env)
