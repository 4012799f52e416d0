/** Names without their option: `gw upstream test NAME` is `gw upstream test --name NAME`. */
import type { Command, Option } from 'commander'
import { EXIT } from '../printing/output.ts'

/**
 * Adds an argument that is the value of the option, and the action, which gets the options as usual. `excludes`: the
 * member of the options that conflicts with this one.
 */
export function bareName<Options extends object>(
  command: Command,
  long: string,
  action: (options: Options, command: Command) => void | Promise<void>,
  excludes?: string,
): Command {
  const option = command.options.find((one) => one.long === long)
  if (option === undefined) throw new Error(`${command.name()} has no option ${long}`)
  const isRequired = option.mandatory
  // commander would ask for the option before it reads the argument.
  option.makeOptionMandatory(false)
  const name = long.slice(2)
  return command
    .argument(`[${name}]`, isRequired ? `required, here or as ${long}` : `the same as ${long}`)
    .hook('preAction', (_above, acting) => take(acting, option, { isRequired, excludes }))
    .action((_bare: string | undefined, options: Options, acting: Command) =>
      action(options, acting),
    )
}

interface Taking {
  readonly isRequired: boolean
  readonly excludes: string | undefined
}

function take(command: Command, option: Option, { isRequired, excludes }: Taking): void {
  const [bare] = command.args
  const attribute = option.attributeName()
  const fail = (message: string) => command.error(`error: ${message}`, { exitCode: EXIT.usage })
  const isGiven = command.getOptionValueSource(attribute) === 'cli'
  if (bare === undefined) {
    if (isRequired && command.getOptionValue(attribute) === undefined)
      fail(`required option '${option.flags}' not specified`)
    return
  }
  if (isGiven) fail(`"${bare}" and ${option.long} name the same thing; give one`)
  if (excludes !== undefined && command.getOptionValueSource(excludes) === 'cli')
    fail(`"${bare}" cannot be used with ${flagOf(command, excludes)}`)
  command.setOptionValueWithSource(attribute, read(option, bare, fail), 'cli')
}

function read(option: Option, text: string, fail: (message: string) => never): unknown {
  if (option.parseArg === undefined) return text
  try {
    return option.parseArg(text, undefined)
  } catch (error) {
    return fail(`"${text}" is invalid. ${error instanceof Error ? error.message : error}`)
  }
}

function flagOf(command: Command, attribute: string): string {
  return command.options.find((one) => one.attributeName() === attribute)?.long ?? attribute
}
