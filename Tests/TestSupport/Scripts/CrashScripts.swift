extension Script {
    /// The workloads that are crashed at every call. Each is small, since it is run thousands of times, and each is
    /// made for one way in which the file changes.
    public static let crashWorkloads: [(name: String, text: String)] = [
        (
            "small commits",
            """
            tree t int
            put t 1 20b
            put t 2 20b
            put t 3 300b
            put t 4 20b
            """
        ),
        (
            "overwrites",
            """
            tree t int
            put t 1..20 50b
            put t 1..20 60b
            checkpoint
            put t 5 10b
            put t 5 700b
            put t 1..20/3 0b
            checkpoint
            put t 5 20b
            """
        ),
        (
            "deletes",
            """
            tree t bytes
            put t 1..60 80b
            checkpoint
            delete t 1..60/2
            delete t 3
            checkpoint
            delete t 1..60
            put t 7 10b
            """
        ),
        (
            "splits",
            """
            tree t int
            tree u bytes 120
            put t 1..60 200b
            checkpoint
            put t 200..100/3 250b
            put u 1..60/2 60b
            put u 60..1/7 90b
            checkpoint
            put t 61..99/2 200b
            """
        ),
        (
            "merges",
            """
            tree t int
            tree u bytes 60
            put t 1..150 150b
            put u 1..120 100b
            checkpoint
            delete t 10..140
            delete u 100..20
            checkpoint
            delete t 1..150
            """
        ),
        (
            "range deletes",
            """
            tree t int
            put t 1..200 120b
            checkpoint
            deleterange t 20 180
            begin
            deleterange t 1 10
            put t 5 40b
            commit
            checkpoint
            deleteall t
            put t 9 9b
            """
        ),
        (
            "overflow values",
            """
            tree t int
            put t 1 9000b
            put t 2 6000z
            checkpoint
            put t 1 12000b
            delete t 2
            checkpoint
            put t 1 10b
            put t 3 5000b
            """
        ),
        (
            "big transaction by checkpoint",
            """
            options log 65536
            tree t int
            put t 1..5 40b
            put t 10..150 300b
            put t 6 40b
            begin
            put t 1..150/2 320b
            delete t 2..150/2
            commit
            put t 7 40b
            """
        ),
        (
            "big transaction taken back",
            """
            options log 16384
            tree t int
            put t 1..3 40b
            begin
            tree u int
            savepoint a
            put t 1..60 300b
            rollbackto a
            commit
            put u 1 10b
            begin
            savepoint b
            put t 1..60 300b
            rollbackto b
            put t 2 50b
            commit
            """
        ),
        (
            "bulk load",
            """
            options log 65536 cache 524288
            tree t int
            tree u bytes
            begin
            put t 1..400 200b
            put u 1..100 30b
            commit
            put t 401 10b
            """
        ),
        (
            "savepoints",
            """
            tree t int
            put t 1..30 50b
            begin
            put t 31..50 50b
            savepoint a
            delete t 1..40
            put t 60..80 500b
            savepoint b
            put t 1..5 10b
            rollbackto b
            put t 90 10b
            rollbackto a
            put t 91 10b
            commit
            checkpoint
            begin
            savepoint c
            put t 1..100 80b
            rollbackto c
            commit
            """
        ),
        (
            "many trees",
            """
            begin
            tree a int
            tree b bytes
            tree c int
            tree d bytes 200
            put a 1 10b
            put b 1 10b
            put d 1..10 10b
            commit
            put c 1..10 100b
            checkpoint
            begin
            put a 2 10b
            put b 2 10b
            put c 2 10b
            put d 2 10b
            commit
            """
        ),
        (
            "create and drop trees",
            """
            tree a int
            put a 1..40 100b
            drop a
            tree a bytes
            put a 1..10 50b
            checkpoint
            begin
            drop a
            tree b int
            put b 1..20 100b
            commit
            begin
            tree c int
            put c 1 1b
            rollback
            checkpoint
            drop b
            """
        ),
        (
            "checkpoint with readers",
            """
            tree t int
            put t 1..40 100b
            snapshot s
            put t 1..40/2 110b
            checkpoint
            snapshot u
            delete t 1..20
            checkpoint
            check s
            put t 3 120b
            release s
            checkpoint
            put t 4 50b
            check u
            checkpoint
            """
        ),
        (
            "checkpoint in steps",
            """
            options log 16384
            tree t int
            put t 1..30 100b
            step 1
            put t 31 100b
            step 1
            put t 32 100b
            step 1
            put t 33 100b
            step 2
            put t 34 100b
            step 2
            put t 35..50 100b
            step 4
            delete t 1..10
            step 9
            put t 60 10b
            """
        ),
        (
            "segment roll-over",
            """
            options log 16384
            tree t int
            put t 1..10 200b
            put t 11..20 200b
            put t 21..30 200b
            put t 31..40 200b
            put t 41..50 200b
            checkpoint
            put t 1..10 210b
            put t 11..20 210b
            put t 21..30 210b
            checkpoint
            put t 1 10b
            """
        ),
        (
            "reopen",
            """
            tree t int
            put t 1..10 50b
            reopen
            put t 11..20 50b
            reopen
            reopen
            delete t 5..15
            checkpoint
            reopen
            put t 1 20b
            """
        ),
        (
            "empty commits",
            """
            begin
            commit
            tree t int
            begin
            commit
            begin
            put t 1 10b
            delete t 1
            commit
            checkpoint
            checkpoint
            begin
            rollback
            put t 2 0b
            reopen
            begin
            commit
            """
        ),
        (
            "long snapshot",
            """
            tree t int
            put t 1..30 100b
            snapshot old
            put t 1..30 110b
            checkpoint
            snapshot middle
            put t 1..30 120b
            checkpoint
            put t 1..30 130b
            checkpoint
            check old
            release middle
            put t 1..30 140b
            checkpoint
            check old
            """
        ),
        (
            "cache smaller than data",
            """
            options cache 65536 log 32768
            tree t int
            put t 1..60 900b
            put t 61..120 900b
            checkpoint
            put t 1..120/5 800b
            delete t 30..60
            put t 200..215 900b
            """
        ),
        (
            "relaxed durability",
            """
            tree t int
            begin
            put t 1 10b
            commit ordered
            begin
            put t 2 10b
            commit async
            begin
            put t 3 10b
            commit ordered
            put t 4 10b
            begin
            put t 5 10b
            commit async
            step 2
            begin
            put t 6 10b
            commit async
            """
        ),
        (
            "small sectors",
            """
            options sector 512 log 16384
            tree t bytes
            put t 1..12 90b
            checkpoint
            put t 5..20 90b
            delete t 1
            """
        ),
    ]
}
