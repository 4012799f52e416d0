/** The options and arguments whose values are names of a gateway, so that a shell can offer them. */
export const NAME_KINDS = [
  'tenants',
  'routes',
  'upstreams',
  'keys',
  'limits',
  'guardrails',
  'stores',
] as const
export type NameKind = (typeof NAME_KINDS)[number]

/** `path`: the words of the command. `flags` distinguishes `--limit <name>` from a number. */
export function nameKindOf(
  path: readonly string[],
  name: string,
  flags: string,
): NameKind | undefined {
  const [group, command] = path
  switch (name) {
    case 'tenant':
    case 'route':
    case 'upstream':
    case 'store':
      return `${name}s`
    case 'routes':
      return 'routes'
    case 'policy':
      return group === 'guardrail' ? 'guardrails' : undefined
    case 'id':
      return group === 'keys' && command !== 'create' ? 'keys' : undefined
    case 'key':
      return flags.includes('<id>') ? 'keys' : undefined
    case 'limit':
      return flags.includes('<name>') ? 'limits' : undefined
    case 'name':
      return group === 'upstream' ? 'upstreams' : undefined
    default:
      return undefined
  }
}
