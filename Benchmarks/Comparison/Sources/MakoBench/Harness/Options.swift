/// The options of the command line.
struct Options: Sendable {
    var cases: [String] = []
    var engines: [String] = []
    var records = 1_000_000
    var repetitions = 5
    var directory = ".build"
    var json: String?
    var clock = Stopwatch.wall
    var lists = false
    var quick = false
    /// Bytes to touch before each turn.
    var warmMemory = 0

    static let usage = """
        usage: mako-bench [options]
          --cases A,B     run the cases whose names contain one of these words (default: all)
          --engines A,B   run only these engines
          --n N           records of the key-value cases and of the queries (default 1000000); objects and texts are a tenth,
                          and the published designs have their sizes in proportion to a million
          --reps N        repetitions of each case and engine (default 5)
          --quick         100000 records, three repetitions, fewer commits
          --dir PATH      where the databases are made; must be on a real disk (default .build)
          --json FILE     also write the results as JSON
          --clock cpu     time of the calling thread instead of wall time, where other work disturbs; one-thread cases only
          --warm-memory M touch M MiB before each turn: on a virtual machine that takes memory back its first touch is the host's time
          --list          print the cases and stop
        """

    init(arguments: [String]) throws {
        var rest = arguments[...]
        var records: Int?
        var repetitions: Int?
        func value(of option: String) throws -> String {
            guard let value = rest.popFirst() else { throw BenchmarkError("\(option) needs a value\n\(Options.usage)") }
            return value
        }
        func number(of option: String) throws -> Int {
            let text = try value(of: option)
            guard let number = Int(text), number > 0 else {
                throw BenchmarkError("\(option): “\(text)” is not a positive number")
            }
            return number
        }
        while let option = rest.popFirst() {
            switch option {
            case "--cases": cases = try value(of: option).split(separator: ",").map(String.init)
            case "--engines": engines = try value(of: option).split(separator: ",").map(String.init)
            case "--n": records = try number(of: option)
            case "--reps": repetitions = try number(of: option)
            case "--dir": directory = try value(of: option)
            case "--json": json = try value(of: option)
            case "--quick": quick = true
            case "--warm-memory": warmMemory = try number(of: option) << 20
            case "--list": lists = true
            case "--clock":
                let name = try value(of: option)
                guard let clock = Stopwatch(rawValue: name) else {
                    throw BenchmarkError("--clock: “\(name)” is neither wall nor cpu")
                }
                self.clock = clock
            default: throw BenchmarkError("unknown option \(option)\n\(Options.usage)")
            }
        }
        self.records = records ?? (quick ? 100_000 : 1_000_000)
        self.repetitions = repetitions ?? (quick ? 3 : 5)
    }

    /// The requested cases: a word that is the whole name of a case selects that case alone.
    func wanted(among names: [String]) -> [String] {
        if cases.isEmpty { return names }
        return names.filter { name in cases.contains { names.contains($0) ? $0 == name : name.contains($0) } }
    }

    func wants(engine name: String) -> Bool {
        engines.isEmpty || engines.contains { $0.lowercased() == name.lowercased() }
    }
}
