/** Sockets and tokens of this test's gateways are in a separate folder; the tool uses it too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'gw-run-'))
process.env.XDG_RUNTIME_DIR = folder
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
