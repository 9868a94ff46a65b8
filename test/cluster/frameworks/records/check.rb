# Migrates an application with surrogate keys, distributes it, and uses it, by ActiveRecord: `ruby check.rb PORT`. What is
# wrong is an exception.

require "active_record"
require "pg"
require "stringio"

ActiveRecord::Base.establish_connection(adapter: "postgresql", host: "127.0.0.1", port: ARGV[0], username: "postgres", database: "postgres",
                                        pool: 5, variables: { "citus.global_indexes" => "on" })
DATABASE = ActiveRecord::Base.connection
ActiveRecord::Migration.verbose = false

def check(found, expected)
  raise "#{found.inspect} instead of #{expected.inspect}" unless found == expected
end

def refused(error)
  ActiveRecord::Base.transaction(requires_new: true) { yield }
rescue error
  nil
else
  raise "not refused"
end

class Tables < ActiveRecord::Migration[6.1]
  def change
    create_table(:teams) { |t| t.string :name, null: false, index: { unique: true } }
    create_table(:members) do |t|
      t.references :team, null: false, foreign_key: { on_delete: :cascade }
      t.string :email, null: false, index: { unique: true }
      t.integer :points, null: false, default: 0
      t.timestamps
    end
    create_table(:tasks) do |t|
      t.references :team, null: false, foreign_key: { on_delete: :cascade }
      t.references :member, null: false, foreign_key: { on_delete: :cascade }
      t.string :title, null: false
      t.index %i[team_id title], unique: true
    end
    create_table(:labels) do |t|
      t.references :team, null: false, foreign_key: { on_delete: :cascade }
      t.string :name
    end
    create_join_table(:tasks, :labels) { |t| t.index %i[task_id label_id], unique: true }
    add_foreign_key :labels_tasks, :tasks, on_delete: :cascade
    add_foreign_key :labels_tasks, :labels
  end
end

class Later < ActiveRecord::Migration[6.1]
  def change
    add_column :members, :login, :string
    add_index :members, "lower(login)", unique: true, name: "members_login", where: "login IS NOT NULL"
    add_reference :members, :mentor, foreign_key: { to_table: :members, on_delete: :nullify }
    change_column_default :members, :points, from: 0, to: 1
    add_index :tasks, :title
  end
end

class Team < ActiveRecord::Base
  has_many :members
end

class Member < ActiveRecord::Base
  belongs_to :team
  belongs_to :mentor, class_name: "Member", optional: true
  has_many :tasks
  validates :email, uniqueness: true
end

class Label < ActiveRecord::Base
  belongs_to :team
end

class Task < ActiveRecord::Base
  belongs_to :team
  belongs_to :member
  has_and_belongs_to_many :labels
end

def schema
  dumped = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord.version < Gem::Version.new("7.2") ? DATABASE : DATABASE.pool, dumped)
  dumped.string
end

def migrate
  Tables.new.migrate(:up)
  before = schema
  DATABASE.execute("SELECT create_distributed_table('teams', 'id')")
  %w[members tasks labels].each { |name| DATABASE.execute("SELECT create_distributed_table('#{name}', 'team_id', colocate_with => 'teams')") }
  DATABASE.execute("SELECT create_distributed_table('labels_tasks', 'task_id')")
  check(schema, before)
  Later.new.migrate(:up)
  ActiveRecord::Base.descendants.each(&:reset_column_information)
end

# Team n has n members, each with a task of one label.
def fill
  (1..5).each do |n|
    team = Team.create!(name: "team #{n}")
    label = Label.create!(team: team, name: "label")
    n.times { |i| Task.create!(team: team, title: "task #{i}", labels: [label], member: team.members.create!(email: "m#{i}@t#{n}.org")) }
  end
end

def use
  member = Member.find_by!(email: "m2@t4.org")
  check(Member.find(member.id).team.name, "team 4")
  check(Task.joins(:member).find_by!(members: { email: "m2@t4.org" }).labels.map(&:name), ["label"])
  check(Member.includes(:tasks).where(email: %w[m0@t1.org m1@t2.org none]).sum { |found| found.tasks.size }, 2)
  check(Member.new(team: member.team, email: "m0@t1.org").valid?, false)
  refused(ActiveRecord::RecordNotUnique) { Member.insert!({ team_id: member.team_id, email: "m0@t1.org", created_at: Time.now, updated_at: Time.now }) }
  refused(ActiveRecord::InvalidForeignKey) { Task.insert!({ team_id: member.team_id, member_id: -1, title: "x" }) }
  refused(ActiveRecord::InvalidForeignKey) { Label.first.delete }
  check(Label.create_or_find_by!(id: Label.last.id) { |made| made.team = Team.first }.id, Label.last.id)
  check(Member.find_or_create_by!(email: "new@t1.org") { |made| made.team = Team.first }.points, 1)
  rows = %w[m2@t4.org upsert@t1.org].map { |email| { team_id: member.team_id, email: email, points: 7, created_at: Time.now, updated_at: Time.now } }
  Member.insert_all(rows, unique_by: :email)
  check(Member.where(points: 7).count, 1)
  Member.upsert_all(rows, unique_by: :email)
  check(Member.where(points: 7).order(:email).pluck(:email), %w[m2@t4.org upsert@t1.org])
  check(Member.group(:team).count.transform_keys(&:name)["team 4"], 5)
  Member.where(team: Team.find_by(name: "team 3")).update_all(mentor_id: member.id)
end

def count_in_threads
  member = Member.find_by!(email: "m2@t4.org")
  threads = Array.new(4) do
    Thread.new { ActiveRecord::Base.connection_pool.with_connection { 3.times { Member.find(member.id).with_lock { Member.find(member.id).increment!(:points) } } } }
  end
  threads.each(&:join)
  check(member.reload.points, 19)
  member.destroy
  check([Member.where.not(mentor_id: nil).count, Task.count], [0, 14])
  Team.find_by!(name: "team 5").delete
  check([Member.count, Task.count, Label.count], [11, 9, 4])
end

begin
  migrate
  fill
  use
  count_in_threads
ensure
  DATABASE.execute("DROP TABLE IF EXISTS labels_tasks, tasks, labels, members, teams, ar_internal_metadata, schema_migrations")
end
