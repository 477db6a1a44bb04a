# The client scenario of ../README.md with ActiveRecord's postgresql adapter: its type maps, binds, its
# statement cache, transactions.
require 'json'
require 'active_record'

ACQUIRE = 'SELECT * FROM raisin_lock_acquire($1, $2)'.freeze
CLAIM = 'SELECT * FROM raisin_inventory_claim($1, $2, $3)'.freeze

ActiveRecord::Base.establish_connection(adapter: 'postgresql') # everything comes from the PG* variables
CONN = ActiveRecord::Base.connection

def bind(value)
  type = value.is_a?(Integer) ? ActiveRecord::Type::BigInteger.new : ActiveRecord::Type::String.new
  ActiveRecord::Relation::QueryAttribute.new('', value, type)
end

def result(sql, *args)
  found = CONN.exec_query(sql, 'SQL', args.map { |a| bind(a) }, prepare: true)
  raise "#{found.length} rows" unless found.length == 1

  found
end

def row(sql, *args)
  Array(result(sql, *args).cast_values[0])
end

def failure(sql, *args)
  result(sql, *args)
  'no error'
rescue ActiveRecord::StatementInvalid => e
  e.cause.result.error_field(PG::Result::PG_DIAG_SQLSTATE)
end

def letter(value)
  { true => 't', false => 'f' }.fetch(value)
end

def scenario
  key = 'seat:activerecord'
  acquired, got, token, expires = row(ACQUIRE, key, 5000)
  raise "row #{got} #{token} #{expires}" unless got == key && token.is_a?(Integer) && token > 2**50 && expires > Time.now.to_f * 1000

  puts "acquire: #{letter(acquired)}"
  refused = CONN.select_one("SELECT * FROM raisin_lock_acquire(#{CONN.quote(key)}, 5000)")
  raise "row #{refused}" unless refused.values_at('key', 'token', 'expires_at_ms') == [key, nil, nil]

  puts "refused: #{letter(refused['acquired'])}"
  puts "renew: #{letter(row('SELECT raisin_lock_renew($1, $2, $3)', key, token, 5000)[0])}"
  puts "release: #{letter(row('SELECT raisin_lock_release($1, $2)', key, token)[0])}"
  puts "release again: #{letter(CONN.select_value("SELECT raisin_lock_release(#{CONN.quote(key)}, #{token})"))}"

  grant = result('SELECT raisin_lock_acquire($1, $2)', 'json:activerecord', 5000).cast_values[0]
  raise "json #{grant}" unless grant['acquired'] == true && grant['key'] == 'json:activerecord' && grant['token'] > 2**50 && grant['expires_at_ms'] > Time.now.to_f * 1000

  puts 'json: acquired'
  puts CONN.select_value("SELECT raisin_lock_acquire('json:activerecord', 5000)") # not cast: the server's text

  [2, 2, 2, 1, 1].each do |n|
    claimed, left = row(CLAIM, 'pool:activerecord', n, 5)
    puts "claim: #{letter(claimed)} #{Integer(left)}"
  end
  puts "restock: #{row('SELECT raisin_inventory_release($1, $2)', 'pool:activerecord', 2)[0]}"

  # prepared once, then found in the adapter's statement cache
  left = Array.new(10) { row('SELECT remaining FROM raisin_inventory_claim($1, $2, $3)', 'ten:activerecord', 1, 10)[0] }
  puts "prepared: #{left.join(' ')}"

  ActiveRecord::Base.transaction do
    puts "error: #{failure(ACQUIRE, '', 5000)}"
    puts "aborted: #{failure('SELECT 1')}"
    raise ActiveRecord::Rollback
  end
  puts "alive: #{CONN.select_value('SELECT 1')}"
  raise 'not active' unless CONN.active?

  puts 'done'
end

if ARGV[0] == 'anonymous'
  puts failure(ACQUIRE, 'seat:activerecord', 5000)
  puts failure(CLAIM, 'pool:activerecord', 1, 5)
  puts "select: #{CONN.select_value('SELECT 1')}"
else
  scenario
end
CONN.disconnect!
