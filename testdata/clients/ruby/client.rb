# The client scenario of ../README.md with the pg gem: a type map, bound parameters, a prepared statement.
require 'json'
require 'pg'

ACQUIRE = 'SELECT * FROM raisin_lock_acquire($1, $2)'.freeze
CLAIM = 'SELECT * FROM raisin_inventory_claim($1, $2, $3)'.freeze

CONN = PG.connect # everything comes from the PG* variables
AS_TEXT = CONN.type_map_for_results
CONN.type_map_for_results = PG::BasicTypeMapForResults.new(CONN) # reads pg_type

def row(sql, *args)
  rows = CONN.exec_params(sql, args).values
  raise "#{rows.size} rows" unless rows.size == 1

  rows[0]
end

def failure
  yield
  'no error'
rescue PG::Error => e
  e.result.error_field(PG::Result::PG_DIAG_SQLSTATE)
end

def letter(value)
  { true => 't', false => 'f' }.fetch(value)
end

def scenario
  key = 'seat:ruby'
  acquired, got, token, expires = row(ACQUIRE, key, 5000)
  raise "row #{got} #{token} #{expires}" unless got == key && token.is_a?(Integer) && token > 2**50 && expires > Time.now.to_f * 1000

  puts "acquire: #{letter(acquired)}"
  acquired, *rest = row(ACQUIRE, key, 5000)
  raise "row #{rest}" unless rest == [key, nil, nil]

  puts "refused: #{letter(acquired)}"
  puts "renew: #{letter(row('SELECT raisin_lock_renew($1, $2, $3)', key, token, 5000)[0])}"
  puts "release: #{letter(row('SELECT raisin_lock_release($1, $2)', key, token)[0])}"
  puts "release again: #{letter(row('SELECT raisin_lock_release($1, $2)', key, token)[0])}"

  grant = row('SELECT raisin_lock_acquire($1, $2)', 'json:ruby', 5000)[0]
  raise "json #{grant}" unless grant['acquired'] == true && grant['key'] == 'json:ruby' && grant['token'] > 2**50 && grant['expires_at_ms'] > Time.now.to_f * 1000

  puts 'json: acquired'
  puts CONN.exec_params('SELECT raisin_lock_acquire($1, $2)', ['json:ruby', 5000]).map_types!(AS_TEXT).getvalue(0, 0)

  [2, 2, 2, 1, 1].each do |n|
    claimed, left = row(CLAIM, 'pool:ruby', n, 5)
    puts "claim: #{letter(claimed)} #{Integer(left)}"
  end
  puts "restock: #{row('SELECT raisin_inventory_release($1, $2)', 'pool:ruby', 2)[0]}"

  CONN.prepare('ten', 'SELECT remaining FROM raisin_inventory_claim($1, $2, $3)')
  raise 'parameters of ten' unless CONN.describe_prepared('ten').nparams == 3

  left = Array.new(10) { CONN.exec_prepared('ten', ['ten:ruby', 1, 10]).getvalue(0, 0) }
  puts "prepared: #{left.join(' ')}"

  CONN.exec('BEGIN')
  puts "error: #{failure { row(ACQUIRE, '', 5000) }}"
  puts "aborted: #{failure { row('SELECT 1') }}"
  CONN.exec('ROLLBACK')
  puts "alive: #{row('SELECT 1')[0]}"
  puts 'done'
end

if ARGV[0] == 'anonymous'
  CONN.prepare('acquire', ACQUIRE)
  puts(failure { CONN.exec_prepared('acquire', ['seat:ruby', 5000]) })
  puts(failure { row(CLAIM, 'pool:ruby', 1, 5) })
  puts "select: #{row('SELECT 1')[0]}"
else
  scenario
end
CONN.close
