# frozen_string_literal: true

# Runs the connector as Workato documents it, without Workato's gem.
#   ruby check.rb BASE_URL TOKEN [SINCE [CLOSURE [TRIGGER]]]   polls: prints the id of each lead, one a line, and stops at the first page
#                                                              that is not full. The closure for the next call goes to the standard error.
#   ruby check.rb BASE_URL TOKEN --subscribe URL               starts an instant recipe: prints what Workato keeps to stop it
#   ruby check.rb BASE_URL TOKEN --unsubscribe KEPT            stops it
# An error of the connector is printed as its sentence alone, with exit code 1.

require 'json'
require 'net/http'
require 'time'

# The few words of Rails that Workato gives to connectors.
class Object
  def blank? = nil? || (respond_to?(:empty?) && empty?)
  def present? = !blank?
  def presence = present? ? self : nil
end

class String
  def to_time = Time.parse(self)
end

CONNECTOR = eval(File.read(File.join(__dir__, 'connector.rb')))

# What the connector itself reports.
class ConnectorError < StandardError; end

# Where the connector's lambdas run.
class Sandbox
  def initialize(connection)
    @connection = connection
  end

  def run(part, *arguments) = instance_exec(*arguments, &part)

  def call(method, *arguments) = run(CONNECTOR[:methods][method.to_sym], *arguments)

  def headers(values) = @headers = values

  def error(message) = raise(ConnectorError, message)

  def parse_json(text) = JSON.parse(text)

  def get(path) = Request.new(self, Net::HTTP::Get, path)

  def post(path, payload) = Request.new(self, Net::HTTP::Post, path, JSON.generate(payload))

  def delete(path) = Request.new(self, Net::HTTP::Delete, path)

  def send_request(type, path, params, body)
    run(CONNECTOR[:connection][:authorization][:apply], @connection)
    uri = URI.join(run(CONNECTOR[:connection][:base_uri], @connection), path)
    uri.query = URI.encode_www_form(params) if params
    request = type.new(uri, body ? @headers.merge('Content-Type' => 'application/json') : @headers)
    Net::HTTP.start(uri.host, uri.port, use_ssl: uri.scheme == 'https') { |http| http.request(request, body) }
  end
end

# A request of Workato's SDK: sent when its answer is used. Its blocks get header names in lower case, with underscores.
class Request
  def initialize(sandbox, type, path, body = nil)
    @sandbox = sandbox
    @type = type
    @path = path
    @body = body
    @parse = ->(body) { JSON.parse(body) }
    @after = ->(_code, body, _headers) { body }
  end

  def params(params) = tap { @params = params }

  def response_format_raw = tap { @parse = ->(body) { body.dup.force_encoding(Encoding::BINARY) } }

  def after_error_response(_pattern, &block) = tap { @after_error = block }

  def after_response(&block) = tap { @after = block }

  def answer = @answer ||= read(send)

  def respond_to_missing?(...) = answer.respond_to?(...)

  def method_missing(...) = answer.public_send(...)

  private

  # Workato's HTTP library has a message of its own for a connection that is cut.
  def send
    @sandbox.send_request(@type, @path, @params, @body)
  rescue IOError, SystemCallError, Net::ProtocolError
    @sandbox.run(@after_error, nil, nil, nil, 'Server broke connection')
  end

  def read(response)
    code = response.code.to_i
    headers = response.each_header.to_h { |name, value| [name.tr('-', '_'), value] }
    if code >= 400
      @sandbox.run(@after_error, code, response.body, headers, response.message)
    else
      @sandbox.run(@after, code, @parse.call(response.body.to_s), headers)
    end
  end
end

INSTANT = CONNECTOR[:triggers][:new_lead_instant]

# What Workato keeps, it keeps as JSON.
def kept(value) = JSON.parse(JSON.generate(value))

def poll_all(connection, since = nil, closure = 'null', name = 'new_lead')
  trigger = CONNECTOR[:triggers].fetch(name.to_sym)
  closure = JSON.parse(closure)
  sandbox = Sandbox.new(connection)
  sandbox.run(CONNECTOR[:test], connection).length
  loop do
    page = sandbox.run(trigger[:poll], connection, { 'since' => since }, closure)
    closure = kept(page[:next_poll])
    page[:events].each do |lead|
      raise 'the lead has no dedup key' if sandbox.run(trigger[:dedup], lead).blank?

      puts lead['id']
    end
    break unless page[:can_poll_more]
  end
  warn JSON.generate(closure)
end

def subscribe(connection, url)
  puts JSON.generate(Sandbox.new(connection).run(INSTANT[:webhook_subscribe], url, connection, {}).answer)
end

def unsubscribe(connection, webhook)
  Sandbox.new(connection).run(INSTANT[:webhook_unsubscribe], webhook).answer
end

begin
  base_url, token, *rest = ARGV
  abort 'ruby check.rb BASE_URL TOKEN [SINCE [CLOSURE [TRIGGER]]]' unless token
  connection = { 'base_url' => base_url, 'token' => token }
  case rest[0]
  when '--subscribe' then subscribe(connection, rest.fetch(1))
  when '--unsubscribe' then unsubscribe(connection, JSON.parse(rest.fetch(1)))
  else poll_all(connection, *rest)
  end
rescue ConnectorError => e
  abort e.message
end
