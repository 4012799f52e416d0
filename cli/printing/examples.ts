/** An example or two for each command, shown at the end of its help and on its page. */
import type { Command } from 'commander'

/** By the words after the name of the tool; each example begins after that name, too. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: ['init', 'init --provider vllm --model llama-3 --endpoint http://gpu:8000 --tenant search'],
  run: ['run', 'run --file gw.yaml --log-format text'],
  'config validate': ['config validate gw.yaml', 'config validate gw.yaml --explain --strict'],
  'config show': ['config show --resolved', 'config show --file gw.yaml --resolved -o json'],
  import: ['import litellm config.yaml -o gw.yaml', 'import bifrost config.json --strict -o wide'],
  diff: [
    'diff gw.yaml',
    'diff gw.yaml -n models --gateway production',
    'diff --traffic requests.jsonl --from http://litellm:4000 --url http://gw:8080',
  ],
  apply: [
    'apply gw.yaml',
    'apply gw.yaml -n models --reload',
    'apply gw.yaml --dry-run=server',
    'apply gw.yaml --yes',
    'apply gw.yaml --verify',
  ],
  expose: ['expose --for envoy-gateway --gateway models/production --host models.example.com'],
  status: ['status', 'status production -n models --watch'],
  wait: ['wait', 'wait gwc/production -n models --for condition=Programmed --timeout 5m'],
  why: ['why', 'why --route chat --since 2h', 'why --tenant search --at 14:02 -n models'],
  models: ['models', 'models -o name'],
  top: ['top', 'top production -n models', 'top --once -o json'],
  'rollout status': ['rollout status', 'rollout status chat -n models -o json'],
  'rollout pause': ['rollout pause chat'],
  'rollout resume': ['rollout resume chat -n models'],
  'rollout promote': ['rollout promote chat -n models'],
  'rollout abort': ['rollout abort chat'],
  'shadow status': ['shadow status', 'shadow status chat -o json'],
  logs: ['logs --file gw.log --status 429', 'logs gwc/production -n models --follow'],
  console: ['console', 'console -n models --gateway production'],
  doctor: ['doctor', 'doctor --file gw.yaml -o json'],
  'keys create': [
    'keys create --tenant search --routes chat --file gw.yaml',
    'keys create --tenant search --routes chat,embed --expires 90d --apply',
  ],
  'keys list': ['keys list', 'keys list --tenant search -o wide'],
  'keys inspect': ['keys inspect gw_live_search'],
  'keys test': ['keys test search-1 --route chat'],
  'keys revoke': ['keys revoke search-1 --reason leaked --file gw.yaml'],
  'keys rotate': ['keys rotate search-1 --grace 24h --file gw.yaml'],
  'keys import': ['keys import litellm keys.csv --teams teams.csv --file gw.yaml'],
  'auth test': ['auth test --route chat'],
  'limits show': ['limits show search', 'limits show --key search-1'],
  'limits test': ['limits test search --rate 120 --duration 30s --route chat'],
  usage: ['usage --by tenant,model --since 7d', 'usage --by tenant --from 2026-11 -o csv'],
  'pricing import': ['pricing import prices.json --file gw.yaml'],
  'pricing check': ['pricing check --file gw.yaml'],
  explain: ['explain chat', 'explain chat --tenant search --prompt-tokens 5000'],
  'trace get': ['trace get 70f887d2cd78-4'],
  'trace list': ['trace list', 'trace list --limit 100 -o wide'],
  'context inspect': ['context inspect 70f887d2cd78-4'],
  'upstream drain': [
    'upstream drain gpu --for 30m --file gw.yaml',
    'upstream drain gpu --for 2h -n models',
  ],
  'upstream resume': ['upstream resume gpu --file gw.yaml'],
  'upstream test': ['upstream test', 'upstream test gpu --verbose'],
  'vector test': ['vector test handbook --query "How do I log in?"'],
  'guardrail test': ['guardrail test pii --input "My number is 555-0100"'],
  'tokens verify': ['tokens verify gpu --sample 100'],
  'gateway test': ['gateway test', 'gateway test chat --simulate-failure primary'],
  simulate: ['simulate', 'simulate --port 9000'],
  version: ['version', 'version --client'],
  completion: ['completion bash'],
}

/** Programs share their commands. */
const done = new WeakSet<Command>()

/** Adds them to the help of each command that does something. */
export function addExamples(program: Command): void {
  for (const command of leavesOf(program).filter((one) => !done.has(one))) {
    done.add(command)
    const path = pathOf(command)
    const lines = (EXAMPLES[path.slice(1).join(' ')] ?? []).map((line) => `  ${path[0]} ${line}`)
    if (lines.length > 0) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }
}

export function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)
}

/** The words that call a command. */
export function pathOf(command: Command): string[] {
  return [...(command.parent === null ? [] : pathOf(command.parent)), command.name()]
}
