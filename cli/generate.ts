/** Writes the reference in cli/docs/reference.md from the commands, and cli/docs/json.md from the shapes of their JSON. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Argument, Command, type Option } from 'commander'
import { addPlace } from './asking/place.ts'
import { GROUPS } from './commands/index.ts'
import { EXAMPLES } from './printing/examples.ts'
import { makeProgram } from './program.ts'
import { shapesPage } from './shapes/page.ts'

const START = '<!-- generated: commands -->'
const END = '<!-- end -->'

/** Options that the page describes once, not with every command. */
const PLACE = new Set(addPlace(new Command()).options.map(({ flags }) => flags))

const sections = makeProgram('gw', GROUPS).commands.flatMap((command) => sectionsOf(command, 'gw'))
const asking = ['### Choosing the gateway', tableOf(addPlace(new Command()).options)]
put('reference.md', START, [...asking, ...sections].join('\n\n'))
put('json.md', '<!-- generated: shapes -->', shapesPage())

/** Between the marks of a page. */
function put(page: string, start: string, made: string): void {
  const file = join(import.meta.dirname, 'docs', page)
  const [head, rest] = readFileSync(file, 'utf8').split(start)
  const tail = rest?.split(END)[1]
  if (head === undefined || tail === undefined) throw new Error(`${file} has no ${start} … ${END}`)
  writeFileSync(file, `${head}${start}\n\n${made}\n\n${END}${tail}`)
}

function sectionsOf(command: Command, above: string): string[] {
  const path = `${above} ${command.name()}`
  if (command.commands.length > 0) return command.commands.flatMap((one) => sectionsOf(one, path))
  const args = command.registeredArguments.map(shownArgument).join(' ')
  const title = `### \`${[path, args].filter((part) => part !== '').join(' ')}\``
  const own = command.options.filter(({ flags }) => !PLACE.has(flags))
  const asks =
    own.length < command.options.length ? ['Takes the options that choose the gateway.'] : []
  const { registeredArguments } = command
  const isEmpty = own.length + registeredArguments.length === 0
  const table = isEmpty ? [] : [tableOf(own, registeredArguments)]
  const examples = (EXAMPLES[path.replace(/^\S+ /, '')] ?? []).map(
    (line) => `${above.split(' ')[0]} ${line}`,
  )
  const shown = examples.length === 0 ? [] : [['```', ...examples, '```'].join('\n')]
  return [[title, command.description(), ...asks, ...table, ...shown].join('\n\n')]
}

function tableOf(options: readonly Option[], args: readonly Argument[] = []): string {
  const named = args.map((one) => `| \`${shownArgument(one)}\` | ${one.description} |`)
  return ['| option | meaning |', '| --- | --- |', ...named, ...options.map(rowOf)].join('\n')
}

function shownArgument(argument: Argument): string {
  return argument.required ? `<${argument.name()}>` : `[${argument.name()}]`
}

function rowOf(option: Option): string {
  const { flags, description, argChoices, defaultValue, envVar, mandatory } = option
  const notes = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`]),
    ...(envVar === undefined ? [] : [`variable ${envVar}`]),
    ...(defaultValue === undefined ? [] : [`default ${defaultOf(option)}`]),
    ...(mandatory && envVar === undefined ? ['required'] : []),
  ]
  const more = notes.length === 0 ? '' : ` (${notes.join('; ')})`
  return `| \`${flags}\` | ${`${description}${more}`.replaceAll('|', '\\|')} |`
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  return defaultValueDescription ?? String(defaultValue)
}
