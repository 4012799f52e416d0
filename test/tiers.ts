/** Runs every tier of tests this machine can run, and says in one line why another cannot. */
import { spawnSync } from 'node:child_process'

interface Tier {
  readonly name: string
  readonly script: string
  /** What it cannot do without, as a command that fails where it is missing, and the Debian packages that bring it. */
  readonly needs: Readonly<Record<string, string>>
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
      'redis-server --version': 'redis-server',
      'mmdebstrap --version': 'mmdebstrap',
      // What the model server is linked with; elsewhere than on Linux its package brings it.
      '[ "$(uname)" != Linux ] || /sbin/ldconfig -p | grep -q libgomp.so.1': 'libgomp1',
    },
  },
]

/** Tiers that first build or start something large: asked for by name. */
const APART = [
  ['cluster API', 'make test-cluster (the first run builds a Kubernetes API server)'],
  ['image', 'make test-image'],
  ['end to end', 'make test-e2e (starts a Kubernetes node)'],
] as const

function main(): number {
  let failed = false
  for (const tier of TIERS) {
    const missing = Object.entries(tier.needs).filter(([command]) => !succeeds(command))
    if (missing.length > 0) {
      const packages = missing.map(([, name]) => name).join(' ')
      process.stdout.write(`tier ${tier.name}: cannot run, install ${packages}\n`)
      failed ||= process.env.CI === 'true'
      continue
    }
    const passed = runs(tier)
    process.stdout.write(`tier ${tier.name}: ${passed ? 'passed' : 'FAILED'}\n`)
    failed ||= !passed
  }
  for (const [name, why] of APART) process.stdout.write(`tier ${name}: runs by itself, ${why}\n`)
  return failed ? 1 : 0
}

function succeeds(command: string): boolean {
  return spawnSync(command, { shell: true, stdio: 'ignore' }).status === 0
}

function runs(tier: Tier): boolean {
  return spawnSync('npm', ['run', '--silent', tier.script], { stdio: 'inherit' }).status === 0
}

process.exit(main())
