/**
 * Runs every tier of tests this machine can run, and says in one line why another cannot; `node test/tiers.ts NAME...` runs some.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeNeeds } from './e2e/node/system.ts'
import { type Outcome, runBounded } from './helpers/runner/bounded.ts'
import { FAILED_TESTS } from './helpers/runner/run-tests.ts'

interface Tier {
  readonly name: string
  readonly script: string
  /** Its requirements, each as a command that fails where it is missing, with the Debian packages that bring it. */
  readonly needs: Readonly<Record<string, string>>
  /** The part of a long tier that runs here. The name of its script runs all of it. */
  readonly heart?: Heart
}

interface Heart {
  readonly files: readonly string[]
  /** Several times the duration of a run from nothing: a longer run hangs. */
  readonly minutesMax: number
  /** A command that fails where no package could help, and prints why. */
  readonly possible?: string
  /** A script that removes what the tier started, if it was ended before it could. */
  readonly cleanUp?: string
  readonly whole: string
}

/** Hearts take long where nothing was built yet: they run in CI, and where they are asked for. */
const IS_CI = process.env.CI === 'true'
const CHOSEN = process.argv.slice(2)
const WITH_HEARTS = IS_CI || process.env.GW_TIERS === 'all' || CHOSEN.length > 0

const inFolder = (folder: string, names: readonly string[]) =>
  names.map((name) => `test/${folder}/${name}.test.ts`)

const PROMTOOL = { 'command -v promtool': 'prometheus' }
const PROGRAMS_OF_NODE =
  'node test/helpers/kubernetes/programs.ts --possible kube-apiserver kubelet kube-proxy kubectl coredns helm'

/** To build the programs of a cluster, where there is no Go. */
const BUILD = {
  "/usr/local/go/bin/go version || python3 -c 'import ensurepip, venv'": 'python3 python3-venv',
}

const TIERS: readonly Tier[] = [
  { name: 'check', script: 'check', needs: {} },
  { name: 'unit and conformance', script: 'test:unit', needs: {} },
  {
    name: 'simulation',
    script: 'test:simulation',
    needs: { 'redis-server --version': 'redis-server' },
  },
  {
    name: 'integration',
    script: 'test:integration',
    needs: {
      "python3 -c 'import ensurepip, venv'": 'python3 python3-venv python3-pip',
      'openssl version': 'openssl',
      'curl --version': 'curl',
      'command -v prometheus': 'prometheus',
      'redis-server --version': 'redis-server',
      'command -v nginx': 'nginx',
      'mmdebstrap --version': 'mmdebstrap',
      '[ -e /usr/bin/chromium-headless-shell ] || [ -e /usr/bin/chromium ]':
        'chromium-headless-shell',
      // The model server is linked with it; elsewhere than on Linux its package brings it.
      '[ "$(uname)" != Linux ] || /sbin/ldconfig -p | grep -q libgomp.so.1': 'libgomp1',
    },
  },
  {
    name: 'cluster API',
    script: 'test:cluster',
    needs: { ...BUILD, ...PROMTOOL, 'openssl version': 'openssl' },
    heart: {
      files: inFolder('cluster', [
        'programs',
        'control-plane',
        'crds',
        'crds-mistakes',
        'operator-first',
        'operator-edits',
        'operator-rbac',
        'operator-routes',
        'operator-autoscaling',
        'operator-managers',
        'chart',
        'chart-rendered',
        'chart-gitops',
        'chart-oci',
        'chart-alerts',
        'chart-kube-score',
      ]),
      minutesMax: 30,
      possible:
        'node test/helpers/kubernetes/programs.ts --possible kube-apiserver kubectl helm helm4 kube-score',
      whole: 'make test-cluster',
    },
  },
  {
    name: 'end to end',
    script: 'test:e2e',
    needs: {
      ...BUILD,
      ...PROMTOOL,
      ...nodeNeeds(),
      'command -v buildah': 'buildah',
      'command -v mmdebstrap': 'mmdebstrap',
      'command -v redis-server': 'redis-server',
      'command -v nginx': 'nginx',
    },
    heart: {
      files: inFolder('e2e', ['install', 'metrics', 'front', 'limits', 'uninstall']),
      minutesMax: 30,
      possible: `node test/e2e/node/ability.ts && ${PROGRAMS_OF_NODE}`,
      cleanUp: 'cluster -- down',
      whole: 'make test-e2e',
    },
  },
]

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-tiers-'))
  const failedTests = join(folder, 'failed')
  // The tiers are child processes and inherit it.
  process.env[FAILED_TESTS] = failedTests
  const verdicts: string[] = []
  let failed = false
  const tiers = CHOSEN.length === 0 ? TIERS : TIERS.filter(({ name }) => CHOSEN.includes(name))
  for (const tier of tiers) {
    const { said, isFailure } = await judge(tier)
    const verdict = `tier ${tier.name}: ${said}\n`
    process.stdout.write(verdict)
    verdicts.push(verdict)
    failed ||= isFailure
  }
  if (CHOSEN.length === 0) process.stdout.write('tier image: runs by itself, make test-image\n')
  // Again at the end, because logs of a long run are often cut to their end.
  if (failed) {
    const tests = existsSync(failedTests) ? readFileSync(failedTests, 'utf8') : ''
    process.stdout.write(`\nsome tier failed\n${verdicts.join('')}${tests}`)
  }
  rmSync(folder, { recursive: true })
  return failed ? 1 : 0
}

async function judge({ name, script, needs, heart }: Tier) {
  if (heart && !WITH_HEARTS) {
    const said = `runs by itself, ${heart.whole}; a part of it here with GW_TIERS=all`
    return { said, isFailure: false }
  }
  const missing = Object.entries(needs).filter(([command]) => !succeeds(command))
  if (missing.length > 0) {
    const packages = new Set(missing.map(([, debian]) => debian))
    return { said: `cannot run, install ${[...packages].join(' ')}`, isFailure: IS_CI }
  }
  const why = heart?.possible === undefined ? undefined : reasonAgainst(heart.possible)
  if (why !== undefined) {
    return { said: `cannot run on this machine: ${why}`, isFailure: false }
  }
  if (heart) process.stdout.write(`tier ${name}: a part of it, all by ${heart.whole}\n`)
  const startedAt = performance.now()
  const outcome = await runs(script, heart)
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
  return { said: `${VERDICTS[outcome]} after ${minutes} min`, isFailure: outcome !== 'passed' }
}

const VERDICTS: Readonly<Record<Outcome, string>> = {
  passed: 'passed',
  failed: 'FAILED',
  'took too long': 'FAILED, it was ended because it hung,',
}

async function runs(script: string, heart: Heart | undefined): Promise<Outcome> {
  const files = heart === undefined ? [] : ['--', ...heart.files]
  const bound = heart === undefined ? {} : { msMax: heart.minutesMax * 60_000 }
  const outcome = await runBounded('npm', ['run', '--silent', script, ...files], bound)
  if (heart?.cleanUp !== undefined && (IS_CI || outcome === 'took too long')) {
    const shell = `npm run --silent ${heart.cleanUp}`
    await runBounded('sh', ['-c', shell], { msMax: 300_000 })
  }
  return outcome
}

function succeeds(command: string): boolean {
  return spawnSync(command, { shell: true, stdio: 'ignore' }).status === 0
}

/** The output of a command that fails. */
function reasonAgainst(command: string): string | undefined {
  const { status, stdout, stderr } = spawnSync(command, { shell: true, encoding: 'utf8' })
  if (status === 0) return undefined
  return stdout.trim() || `${command} failed: ${stderr.trim().split('\n')[0]}`
}

process.exit(await main())
