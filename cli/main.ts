#!/usr/bin/env node
/** The tool `gw`. Commands load what they need when they run, so that the help comes at once. */
import { basename } from 'node:path'
import { Command } from 'commander'
import { VERSION } from '../dataplane/version.ts'
import { COMMANDS } from './commands/index.ts'
import { EXIT, endUsageWith64, printRemark } from './output.ts'

const program = new Command(invokedAs(process.argv[1]))
  .description(
    'An inference gateway: run it, check its configuration, make keys, ask how it stands.',
  )
  .version(VERSION, '-V, --version', 'print the version')
  .helpCommand('help [command]', 'print the help of a command')
for (const command of COMMANDS) program.addCommand(command)
endUsageWith64(program)

// Whoever reads only the beginning, as `head` does, has read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.unanswered)
})

try {
  await program.parseAsync()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  printRemark(`error: ${message.replaceAll(/\s*\n\s*/g, ' ')}`)
  process.exitCode = EXIT.unanswered
}

/** kubectl runs `kubectl-gw` when somebody types `kubectl gw`, and that is what they should read. */
function invokedAs(path = ''): string {
  return basename(path).startsWith('kubectl-gw') ? 'kubectl gw' : 'gw'
}
