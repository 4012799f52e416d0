/** Scripts that complete the tool in a shell, generated from its commands. */
import type { Command, Option } from 'commander'
import { NAME_KINDS, type NameKind, nameKindOf } from './name-kinds.ts'

export type Shell = 'bash' | 'zsh' | 'fish'

interface Node {
  /** Words after the name of the tool. */
  readonly path: readonly string[]
  readonly words: readonly Word[]
  readonly options: readonly Option[]
  /** The kind of names that its argument takes. */
  readonly named: NameKind | undefined
}

interface Word {
  readonly name: string
  readonly meaning: string
}

export function completionScript(shell: Shell, root: Command): string {
  const nodes = nodesOf(root, [])
  if (shell === 'bash') return bash(nodes)
  return shell === 'zsh' ? zsh(nodes) : fish(nodes)
}

function nodesOf(command: Command, path: readonly string[]): Node[] {
  const words = command.commands.map((one) => ({ name: one.name(), meaning: one.description() }))
  const [argument] = command.registeredArguments
  const named = argument && nameKindOf(path, argument.name(), `<${argument.name()}>`)
  const node = { path, words, options: command.options, named }
  return [node, ...command.commands.flatMap((one) => nodesOf(one, [...path, one.name()]))]
}

function flagsOf({ options }: Node): string[] {
  const flags = options.flatMap(({ long, short }) => [long, short])
  return ['--help', ...flags.filter((flag) => flag !== undefined && flag !== null)]
}

/** Offers names and files after options that accept one, and the allowed words after other options. */
function bash(nodes: readonly Node[]): string {
  const cases = nodes.map((node) => {
    const words = [...node.words.map(({ name }) => name), ...flagsOf(node)]
    return `    '${node.path.join(' ')}') words='${words.join(' ')}' ;;`
  })
  const paths = nodes.flatMap(({ path }) => (path.length === 0 ? [] : [`'${path.join(' ')}'`]))
  return `# bash completion of gw
_gw() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' word words='' kind='' before='' file=''
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${paths.join('|')}) path="\${path:+$path }$word" ;;
      *) break ;;
    esac
  done
  case "$path $previous" in
${namedCases(nodes, ({ path, options }) => options.flatMap((option) => namedFlags(path, option)))}
  esac
  if [ -z "$kind" ]; then
    case "$previous" in
${valueCases(nodes)}
    esac
    case "$current" in -*) ;; *)
      case "$path" in
${namedCases(nodes, ({ path, named }) => (named === undefined ? [] : [[named, path.join(' ')]]))}
      esac ;;
    esac
  fi
  if [ -n "$kind" ]; then
    for word in "\${COMP_WORDS[@]:1}"; do
      case "$before" in -f|--file) file="$word" ;; esac
      before="$word"
    done
    words="$("\${COMP_WORDS[0]}" completion --names "$kind" \${file:+--file "$file"} 2>/dev/null)"
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _gw gw
`
}

type NamedPattern = readonly [kind: NameKind, pattern: string]

function namedFlags(path: readonly string[], option: Option): NamedPattern[] {
  const kind = nameKindOf(path, option.long?.slice(2) ?? '', option.flags)
  const flags = [option.short, option.long].filter((flag) => flag !== undefined)
  return kind === undefined ? [] : flags.map((flag) => [kind, `${path.join(' ')} ${flag}`])
}

function namedCases(
  nodes: readonly Node[],
  namedOf: (node: Node) => readonly NamedPattern[],
): string {
  const all = nodes.flatMap(namedOf)
  return NAME_KINDS.flatMap((kind) => {
    const patterns = all.flatMap(([one, pattern]) => (one === kind ? [`'${pattern}'`] : []))
    return patterns.length === 0 ? [] : [`    ${patterns.join('|')}) kind=${kind} ;;`]
  }).join('\n')
}

function valueCases(nodes: readonly Node[]): string {
  const options = new Map(nodes.flatMap((node) => node.options.map((one) => [one.long, one])))
  const lines = [...options.values()].flatMap((option) => {
    const names = [option.short, option.long].filter((flag) => flag !== undefined).join('|')
    if (option.argChoices !== undefined)
      return [
        `    ${names}) COMPREPLY=($(compgen -W '${option.argChoices.join(' ')}' -- "$current")); return ;;`,
      ]
    if (option.flags.includes('<path>'))
      return [`    ${names}) COMPREPLY=($(compgen -f -- "$current")); return ;;`]
    return option.required ? [`    ${names}) return ;;`] : []
  })
  return lines.join('\n')
}

/** zsh supports bash's form, so one description is enough. */
function zsh(nodes: readonly Node[]): string {
  return `# zsh completion of gw
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bash(nodes)}`
}

function fish(nodes: readonly Node[]): string {
  const lines = nodes.flatMap((node) => {
    const condition = conditionOf(node)
    const words = node.words.map(
      ({ name, meaning }) =>
        `complete -c gw -n '${condition}' -a '${name}' -d '${quoted(meaning)}'`,
    )
    const options = node.options.map((option) => {
      const short = option.short === undefined ? '' : ` -s '${option.short.slice(1)}'`
      const long = option.long === undefined ? '' : ` -l '${option.long?.slice(2)}'`
      const value = option.required ? ' -r' : ''
      const choices = option.argChoices === undefined ? '' : ` -a '${option.argChoices.join(' ')}'`
      const files = option.flags.includes('<path>') ? ' -F' : ''
      const [named] = namedFlags(node.path, option)
      const names = named === undefined ? '' : ` -a '${namesCommand(named[0])}'`
      const meaning = ` -d '${quoted(option.description)}'`
      return `complete -c gw -n '${condition}'${short}${long}${value}${files}${choices}${names}${meaning}`
    })
    const named =
      node.named === undefined
        ? []
        : [`complete -c gw -n '${condition}' -a '${namesCommand(node.named)}'`]
    return [...words, ...options, ...named]
  })
  return `# fish completion of gw\ncomplete -c gw -f\n${lines.join('\n')}\n`
}

function namesCommand(kind: NameKind): string {
  return `(gw completion --names ${kind} 2>/dev/null)`
}

function conditionOf({ path, words }: Node): string {
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`)
  const below = words.map(({ name }) => name).join(' ')
  if (path.length === 0) return '__fish_use_subcommand'
  return below === ''
    ? seen.join('; and ')
    : `${seen.join('; and ')}; and not __fish_seen_subcommand_from ${below}`
}

function quoted(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
}
